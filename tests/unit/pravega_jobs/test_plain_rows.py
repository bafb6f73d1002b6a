"""Plain rows as changes: the last row of each key by its order, held against a model, and what is refused."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.merging import MergeRules, TableRules
from pravega_jobs.merging.local_changes import changes_to_merge

ORDERED = MergeRules.of(("id", "part"), order_by=("at", "seen"), delete_column="gone")
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("part", pa.string()),
        ("at", pa.int64()),
        ("seen", pa.timestamp("us", "UTC")),
        ("gone", pa.bool_()),
        ("tags", pa.list_(pa.string())),
    ]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(1, 2),
            "part": st.sampled_from(["a", "b"]),
            "at": st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-2, 2)),
            "seen": st.sampled_from([datetime(year, 1, 1, tzinfo=UTC) for year in (1901, 1969, 1970, 2026)]),
            "gone": st.booleans(),
            "tags": st.sampled_from([None, [], ["x"]]),
        }
    ),
    max_size=12,
    unique_by=lambda row: (row["id"], row["part"], row["at"], row["seen"]),
)


def merged(rows: Any, rules: MergeRules) -> list[dict[str, Any]]:
    with changes_to_merge(rows, rules) as found:
        return sorted(found.rows.read_all().to_pylist(), key=str)


@settings(max_examples=25)
@given(ROWS)
def test_the_last_row_of_each_key_by_its_order_is_the_change(rows):
    last: dict[tuple[int, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["at"], row["seen"])):
        last[row["id"], row["part"]] = row
    found = merged(pa.Table.from_pylist(rows, SCHEMA), ORDERED)
    kinds = {True: "delete", False: "update_postimage"}
    expected = {key: (row["at"], row["seen"], row["tags"], kinds[row["gone"]]) for key, row in last.items()}
    shown = [((row["id"], row["part"]), (row["at"], row["seen"], row["tags"], row["_change_type"])) for row in found]
    assert (dict(shown), len(shown)) == (expected, len(expected))
    order = [(row["at"], row["seen"]) for row in sorted(found, key=lambda row: row["_sequence"])]
    assert order == sorted(order)
    assert {len(row["_sequence"]) for row in found} <= {16}


def test_tables_of_every_library_without_an_order_have_each_key_once():
    rows = {"day": [date(2026, 1, 5), date(2026, 1, 6)], "late": [3, 4]}
    rules = MergeRules.of("day", order_by=())
    expected = [
        {"day": day, "late": late, "_change_type": "update_postimage", "_sequence": b""}
        for day, late in zip(*rows.values(), strict=True)
    ]
    frame = pl.DataFrame(rows)
    for table in (frame, frame.lazy(), frame.to_arrow(), pd.DataFrame(rows), frame.to_arrow().to_reader(1)):
        assert merged(table, rules) == expected
    with pytest.raises(LandingError, match=r"two rows of one key, and order_by=\(\) says.*The key: {'day': datetime"):
        merged(pl.concat([frame, frame]), rules)


BASE = {"id": [1, 1], "part": ["a", "a"], "at": [1, 2], "seen": [datetime(2026, 1, 1, tzinfo=UTC)] * 2}
FRAME = pl.DataFrame({**BASE, "gone": [False, True]})


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (FRAME.with_columns(at=pl.lit(1)), LandingError, "does not say which row of a key is the last one"),
        (FRAME.with_columns(part=pl.lit(None, pl.String)), LandingError, "the rows have null in part"),
        (FRAME.with_columns(at=pl.lit(None, pl.Int64)), LandingError, "the rows have null in at"),
        (FRAME.with_columns(gone=pl.lit(None, pl.Boolean)), LandingError, "the rows have null in gone"),
        (FRAME.with_columns(x=pl.lit(None)), LandingError, "column 'x' has no type"),
        (FRAME.drop("part", "gone"), ConfigurationError, "no column part, gone: they have id, at, seen"),
        (FRAME.with_columns(part=pl.lit(1.5)), ConfigurationError, "the key has part, which is double"),
        (FRAME.with_columns(part=pl.lit([1])), ConfigurationError, "the key has part, which is array<"),
        (FRAME.with_columns(at=pl.lit("x")), ConfigurationError, "order_by has at, which is string"),
        (FRAME.with_columns(at=pl.lit(2**63, pl.UInt64)), LandingError, "column 'at' is uint64"),
        (
            FRAME.with_columns(seen=pl.lit(0).cast(pl.Datetime("us"))),
            ConfigurationError,
            "order_by has seen, which is timestamp_ntz",
        ),
        (FRAME.with_columns(gone=pl.lit(1)), ConfigurationError, "delete_column is gone, which is int"),
        (FRAME.with_columns(_change_type=pl.lit("x")), ConfigurationError, "_change_type.* leave out order_by, since"),
        (FRAME.with_columns(_valid_to=1, _interval=2), ConfigurationError, "have _interval, _valid_to, which"),
        ([{"id": 1}], ConfigurationError, "but must be a pyarrow"),
    ],
)
def test_rows_that_cannot_be_merged_are_refused_by_name(frame, error, message):
    with pytest.raises(error, match=message):
        merged(frame, ORDERED)


def test_decimals_and_bytes_can_be_keys():
    rows = pl.DataFrame({"id": [Decimal("1.50"), Decimal("2.50")], "part": [b"a", b"b"]})
    assert [row["id"] for row in merged(rows, MergeRules.of(["id", "part"], order_by=[]))] == rows["id"].to_list()


def test_rules_of_rows_go_with_those_of_changes_or_are_refused():
    assert TableRules.from_text(ORDERED.of_table.to_text()) == ORDERED.of_table
    assert ORDERED.of_table != MergeRules.of(("id", "part")).of_table
    assert "rows ordered by at, seen" in str(ORDERED.of_table)
    needs = [
        MergeRules.of("id", order_by=order, deletes=kept).needs_order
        for order in ("at", ())
        for kept in ("soft", "hard")
    ]
    assert needs == [False, True, True, True]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"delete_column": "gone"}, "for plain rows"),
        ({"order_by": ("at", "at")}, "must name columns, each once"),
        ({"order_by": ""}, "must name columns, each once"),
        ({"order_by": "at", "delete_column": "at"}, "must be a column of its own"),
        ({"order_by": "at", "history": "scd2"}, "history='scd2' needs changes of a database"),
        ({"order_by": (), "ghosts": "remove", "unsent": "null"}, "ghosts='remove', unsent='null' needs"),
    ]
    for rules, message in refused:
        with pytest.raises(ConfigurationError, match=message):
            MergeRules.of("id", **rules)
