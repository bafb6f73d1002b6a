"""The table of a task with a frame: rows are landed or merged by their key, once, and what cannot work is refused."""

from typing import Any

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from deltalake import DeltaTable

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError
from airflow_pravega.frames.table import FrameTable, check_result_errors, plain_rules
from pravega_jobs.landing import table_of

STREAM = StreamName("shop", "orders")


def range_of(number: int) -> dict[str, str]:
    """The range of an interval, as a sensor gives it."""
    start, end = (StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 10 * each}).to_text() for each in (number, number + 1))
    return {"start": start, "end": end, "consumer": "lake", "interval": str(number)}


def target(number: int, folder: Any, generation: int = 1, **rules: Any) -> FrameTable:
    given = {"key": (), "order_by": None, "delete_column": None, "deletes": None, "new_columns": "fail"} | rules
    return FrameTable.of(
        f"delta:{folder}",
        table_of(f"delta:{folder}"),
        None,
        range_of(number),
        generation=generation,
        new_columns="fail",
        partition_by=["day"],
        rules=plain_rules(**given),
    )


def test_rows_are_landed_or_merged_by_their_key_once(tmp_path):
    rows = [pa.table({"id": [1, 2], "day": ["mon", "mon"]}), pa.table({"id": [2], "day": ["tue"]})]
    keyed: dict[str, Any] = {"key": ["id"], "order_by": []}
    found = []
    for number, made in enumerate(rows):
        landed, merged = target(number, tmp_path / "landed"), target(number, tmp_path / "merged", **keyed)
        assert (landed.kind, merged.kind) == ("landing", "merge")
        found.append((landed.put(made), merged.put(made)))
        assert [each.put(made)["action"] for each in (landed, merged)] == ["nothing"] * 2
    (first, _), (second, updated) = found
    assert [(each["action"], each["rows"], each["generation"]) for each in (first, second)] == [
        ("append", 2, 1),
        ("append", 1, 1),
    ]
    assert (updated["action"], updated["changes"], updated["updated"]) == ("merge", 1, 1)
    assert DeltaTable(tmp_path / "landed").to_pyarrow_table().num_rows == 3
    now = DeltaTable(tmp_path / "merged").to_pyarrow_table(columns=["id", "day"]).to_pylist()
    assert sorted((row["id"], row["day"]) for row in now) == [(1, "mon"), (2, "tue")]


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ({"key": ["id"]}, "needs order_by"),
        ({"order_by": ["at"], "deletes": "soft"}, "order_by, deletes is a rule of merges"),
        ({"key": ["id"], "order_by": ["at"], "delete_column": "at"}, "must be a column of its own"),
        ({"key": ["id"], "order_by": [], "generation": 2}, "merged rows cannot be taken out of a table"),
    ],
)
def test_rules_that_cannot_work_are_refused_by_name(tmp_path, rules, names):
    with pytest.raises(ConfigurationError, match=names):
        target(1, tmp_path / "orders", **rules)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("stream:shop/dead", None, None, ()), "say where these go, by into or table"),
        (("stream:shop/dead", None, "delta:/orders", ("id",)), "key merges them: leave one out"),
        (("delta:/errors", "shop/clean", None, ()), "the errors of a write go into a stream"),
        (("nothing", None, "delta:/orders", ()), "does not say what kind of table it is"),
    ],
)
def test_errors_of_a_result_that_have_nowhere_to_go_are_refused(given: tuple[Any, Any, Any, Any], message: str):
    with pytest.raises((ConfigurationError, AirflowFailException), match=message):
        check_result_errors(*given, (None, None, None))
    check_result_errors("{{ templated }}", "shop/clean", None, (), (None, None, None))
