"""Tables that follow a stream: rules that go together, ranges that are put into a table, upkeep when it is due."""

from functools import partial

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.keeping import KeepRules, Kept, put_rows, with_upkeep
from pravega_jobs.landing import DeltaFolder, table_of
from pravega_jobs.landing.rules import Action
from pravega_jobs.spark.options import ERROR
from pravega_jobs.upkeep.rules import Backlog

STREAM = StreamName("shop", "orders")


def cut(offset: int) -> StreamCut:
    return StreamCut(STREAM, {SegmentId(STREAM, 0, 0): offset})


def put(number: int, table: DeltaFolder, rules: KeepRules, size: int = 10) -> Kept:
    """Put one row into a table, as the range of an interval, and keep the table up if it is time."""
    interval, cuts = Interval("lake", STREAM, str(number)), StreamCutRange(cut(10 * number), cut(10 * number + size))
    rows = pa.table({"id": [number]})
    return with_upkeep(put_rows(lambda: rows, size, interval, cuts, table, rules), table, rules)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"ghosts": "remove", "deletes": "soft"}, "deletes, ghosts is a rule of merges, and there is no key"),
        ({"order_by": (), "delete_column": "gone"}, "order_by, delete_column is a rule of merges, and there is no key"),
        ({"key": "id", "delete_column": "gone"}, "or give order_by"),
        ({"key": "id", "order_by": "at", "ghosts": "remove"}, "order_by says that plain rows are merged"),
        ({"key": "id", "errors": "delta:/lake/errors"}, "errors is for landings"),
        ({"key": "id", "history": "all"}, "history"),
        ({"key": "id", "options": {"decode": "csv"}}, "not with decode=csv"),
        ({"new_columns": "drop"}, "new_columns"),
        ({"most_errors": 3}, "most_errors=3 needs errors"),
        ({"errors": "delta:/lake/errors", "options": {"On_Error": "null"}}, "the options say on_error=null"),
        ({"upkeep_after": -1}, "upkeep_after=-1"),
        ({"columns": "id long", "options": {"columns": "id int"}}, "give them once"),
    ],
)
def test_rules_that_do_not_go_together_are_refused_by_name(given, names):
    with pytest.raises(ConfigurationError, match=names):
        KeepRules.of(**given)


@pytest.mark.parametrize(
    ("table", "given", "names"),
    [
        ("parquet:/lake/orders", {"key": "id"}, "changes cannot be merged"),
        ("parquet:/lake/orders", {"partition_by": ["day"]}, "partition_by is for tables of"),
        ("parquet:/lake/orders", {"upkeep_after": 10}, "tables of Parquet have no upkeep"),
        ("delta:/lake/orders", {"partition_by": ["day(at)"]}, "partitions by columns only"),
        ("delta:/lake/orders", {"key": "id", "partition_by": ["day(at)"]}, "partitions by columns only"),
    ],
)
def test_rules_that_a_kind_of_table_cannot_follow_are_refused(table, given, names):
    with pytest.raises(ConfigurationError, match=names):
        KeepRules.of(**given).check(table_of(table))
    for text in ("parquet:/lake/orders", "delta:/lake/orders", "iceberg:lake/shop.orders"):
        KeepRules.of().check(table_of(text))


def test_options_of_the_read_come_from_the_rules():
    assert KeepRules.of(columns="id long", options={"decode": "json"}).options == {
        "decode": "json",
        "columns": "id long",
    }
    errors = KeepRules.of(errors="delta:/lake/errors", options={"decode": "json"})
    assert errors.options == {"decode": "json", "on_error": "dead", "metadata_columns": "event_pointer"}
    assert errors.event_pointer == "event_pointer"
    more = {"decode": "json", "Metadata_columns": "offset", "metadata_prefix": "m_"}
    named = KeepRules.of(errors="delta:/lake/errors", options=more)
    assert (named.event_pointer, named.options["metadata_columns"]) == ("m_event_pointer", "offset,event_pointer")
    own = KeepRules.of(errors="delta:/lake/errors", options={"metadata_columns": "offset, event_pointer"})
    changed = KeepRules.of(errors="delta:/lake/errors", rows_are_events=False)
    assert own.event_pointer is changed.event_pointer is None
    merge = KeepRules.of(key="id", columns="id int", options={"table": "orders"})
    assert merge.options["changes"] == "upsert"
    assert (merge.options["key"], merge.options["table"]) == ("id", "orders")
    assert (merge.kind, errors.kind) == ("merge", "landing")
    plain = KeepRules.of(key="id", order_by="at", columns="id int, at long", options={"decode": "json"})
    assert (plain.kind, plain.options) == ("merge", {"decode": "json", "columns": "id int, at long"})


def test_an_empty_range_leaves_the_table_alone_and_says_so(tmp_path):
    kept = put(1, DeltaFolder(str(tmp_path / "orders")), KeepRules.of(), size=0)
    assert (kept.action, kept.rows, kept.is_empty) == (Action.NOTHING, 0, True)
    assert "has no events" in str(kept)
    assert not (tmp_path / "orders").exists()


@pytest.mark.parametrize(
    ("small", "version", "due"), [(0, 0, False), (2, 1, False), (3, 1, True), (0, 3, True), (0, 4, False), (0, 6, True)]
)
def test_small_files_and_versions_make_an_upkeep_due(small, version, due):
    assert Backlog(small, version).is_due(3) is due


def test_a_table_is_kept_up_when_its_own_files_say_so(tmp_path):
    table, rules = DeltaFolder(str(tmp_path / "orders")), KeepRules.of(upkeep_after=3)
    first, second, third = (put(number, table, rules) for number in (1, 2, 3))
    assert [first.upkeep, second.upkeep] == [None, None]
    assert third.upkeep is not None
    assert (third.upkeep.compacted_files, third.upkeep.new_files) == (3, 1)
    again = put(3, table, rules)
    assert (again.action, again.rows) == (Action.NOTHING, 1)
    assert len(DeltaTable(table.path).file_uris()) == 1
    assert DeltaTable(table.path).to_pyarrow_table().num_rows == 3
    never = KeepRules.of(upkeep_after=0)
    assert [put(number, table, never).upkeep for number in range(4, 9)] == [None] * 5


def test_plain_rows_replace_those_of_their_key_in_partitions(tmp_path):
    table = DeltaFolder(str(tmp_path / "orders"))
    rules = KeepRules.of(key="id", order_by="at", delete_column="gone", partition_by=["day"])
    ranges = [
        {"id": [1, 2, 3], "at": [1, 1, 1], "day": ["mon", "mon", "mon"], "gone": [False, False, False]},
        {"id": [1, 2, 2], "at": [2, 2, 3], "day": ["tue", "tue", "tue"], "gone": [False, False, True]},
    ]
    for number, rows in enumerate(ranges):
        cuts = StreamCutRange(cut(10 * number), cut(10 * number + 10))
        interval, read = Interval("lake", STREAM, str(number)), partial(pa.table, rows)
        kept = put_rows(read, 10, interval, cuts, table, rules)
        again = put_rows(read, 10, interval, cuts, table, rules)
        assert (kept.action, again.action) == (Action.MERGE, Action.NOTHING)
    assert kept.counts is not None
    assert (kept.counts.updated, kept.counts.deleted) == (1, 1)
    found = DeltaTable(table.path)
    assert found.metadata().partition_columns == ["day"]
    rows_now = found.to_pyarrow_table(columns=["id", "at", "day"]).sort_by("id").to_pylist()
    assert rows_now == [{"id": 1, "at": 2, "day": "tue"}, {"id": 3, "at": 1, "day": "mon"}]


def test_an_upkeep_that_cannot_be_done_is_reported_and_fails_nothing(tmp_path):
    table, rules = DeltaFolder(str(tmp_path / "orders")), KeepRules.of(upkeep_after=1)
    kept = put(1, table, KeepRules.of(upkeep_after=0))
    reported = with_upkeep(kept, DeltaFolder(str(tmp_path / "others")), rules)
    assert reported.upkeep is None
    assert "has no Delta table" in str(reported.upkeep_error)
    assert reported.to_json()["rows"] == 1


def test_errors_of_a_range_are_counted_and_their_table_is_kept_up(tmp_path):
    table = DeltaFolder(str(tmp_path / "orders"))
    rules = KeepRules.of(errors=f"delta:{tmp_path}/errors", upkeep_after=2, rows_are_events=False)

    def put_both(number: int, reason: str | None) -> Kept:
        bad = dict.fromkeys(field.name for field in ERROR_TYPE) | {"event": b"{", "reason": reason}
        found = [None, None if reason is None else bad]
        rows = pa.table({"id": [1, None], ERROR: pa.array(found, ERROR_TYPE)})
        interval, cuts = Interval("lake", STREAM, str(number)), StreamCutRange(cut(20 * number), cut(20 * number + 20))
        return with_upkeep(put_rows(lambda: rows, 20, interval, cuts, table, rules), table, rules)

    good, first, second = put_both(0, None), put_both(1, "not JSON"), put_both(2, "not JSON")
    assert (good.errors, good.errors_upkeep, good.upkeep_error) == (0, None, None)
    assert (first.rows, first.errors, first.action, first.errors_upkeep) == (1, 1, Action.APPEND, None)
    assert str(first).endswith("1 rows and 1 errors of 20 bytes")
    assert second.errors_upkeep is not None
    assert (second.errors_upkeep.compacted_files, second.upkeep_error) == (2, None)
    assert DeltaTable(tmp_path / "errors").to_pyarrow_table().num_rows == 2
