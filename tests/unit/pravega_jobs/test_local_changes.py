"""Changes that DuckDB reduces or sorts, held against a model of a few lines."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.pravega_jobs.ghost_model import SCHEMA as GHOSTS
from tests.integration.pravega_jobs.ghost_model import Event, table_of

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.merging import local_changes
from pravega_jobs.merging.local_changes import changes_to_merge, current_rows
from pravega_jobs.merging.rules import MergeRules

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ('Na\'me "x"', pa.string()),
        ("big", pa.list_(pa.int32())),
        ("_change_type", pa.string()),
        ("_sequence", pa.binary()),
        ("_unchanged", pa.list_(pa.string())),
    ]
)
TIMED = SCHEMA.append(pa.field("_source_ts", pa.timestamp("us", "UTC")))
TAKEN = GHOSTS.field("_ingested_at")
KEYED = MergeRules.of("id")
NAME, BIG = 'Na\'me "x"', "big"
KINDS = ("insert", "update_postimage", "update_preimage", "delete")
CHANGES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(1, 3),
            NAME: st.sampled_from([None, "a", "b"]),
            BIG: st.sampled_from([None, [1, 2], []]),
            "_change_type": st.sampled_from(KINDS),
            "_sequence": st.sampled_from([b"\x01", b"\x02", b"\x80", b"\x80\x00", b"\xff"]),
            "_unchanged": st.sampled_from([None, [], [BIG], [BIG, NAME]]),
        }
    ),
    max_size=12,
)


def model(changes: list[dict[str, Any]], *, current: bool) -> list[dict[str, Any]]:
    """The last change of each key, value by value."""
    found = []
    empties = [one["_sequence"] for one in changes if one["_change_type"] == "truncate"]
    changes = [one for one in changes if one["_change_type"] not in ("truncate", "update_preimage")]
    if empties:
        changes = [one for one in changes if one["_sequence"] > max(empties)]
    for key in sorted({one["id"] for one in changes}):
        # A stable sort: of two at one position, the later event is last.
        mine = sorted((one for one in changes if one["id"] == key), key=lambda one: one["_sequence"])
        row = {"id": key, "_change_type": mine[-1]["_change_type"], "_sequence": mine[-1]["_sequence"]}
        for name in (NAME, BIG):
            sent = [one[name] for one in mine if name not in (one["_unchanged"] or [])]
            row[name] = sent[-1] if sent else None
        row["_unchanged"] = [n for n in (NAME, BIG) if all(n in (one["_unchanged"] or []) for one in mine)]
        if current:
            if row.pop("_change_type") == "delete":
                continue
            del row["_sequence"]
        found.append(row)
    return found


def batches(changes: list[dict[str, Any]]) -> pa.RecordBatchReader:
    return pa.Table.from_pylist(changes, SCHEMA).to_reader(5)


@settings(max_examples=30)
@given(CHANGES)
def test_the_last_change_of_each_key_has_the_last_values_that_were_sent(changes):
    with changes_to_merge(batches(changes), KEYED) as found:
        assert (found.rows.schema.names, found.snapshot) == (SCHEMA.names, None)
        assert sorted(found.rows.read_all().to_pylist(), key=lambda row: row["id"]) == model(changes, current=False)


@settings(max_examples=30)
@given(CHANGES, st.sampled_from([None, b"\x01", b"\x80"]))
def test_the_table_after_all_changes_has_no_deleted_and_no_emptied_rows(changes, emptied):
    if emptied is not None:
        changes = [*changes, dict.fromkeys(SCHEMA.names) | {"_change_type": "truncate", "_sequence": emptied}]
    with current_rows(batches(changes), ["id"]) as found:
        assert found.schema.names == ["id", NAME, BIG, "_unchanged"]
        assert sorted(found.read_all().to_pylist(), key=lambda row: row["id"]) == model(changes, current=True)


@settings(max_examples=30)
@given(CHANGES, st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_a_history_has_all_changes_and_the_last_one_at_a_position_wins(changes, times):
    timed = [
        one | {"_source_ts": datetime(2026, 1, 1 + at, tzinfo=UTC)} for one, at in zip(changes, times, strict=False)
    ]
    with changes_to_merge(pa.Table.from_pylist(timed, TIMED), MergeRules.of("id", history="scd2")) as found:
        rows = found.rows.read_all().to_pylist()
    by_time = sorted(timed, key=lambda one: one["_source_ts"], reverse=True)
    order = sorted(by_time, key=lambda one: (one["id"], one["_sequence"], one["_change_type"]))
    assert rows == [one for one in order if one["_change_type"] != "update_preimage"]


def event(id_: int, position: int, taken: int, op: str, snapshot: str = "false") -> Event:
    return Event(id_, position, op, snapshot, position, taken)


def test_ghosts_are_what_the_newest_whole_snapshot_does_not_have():
    killed = [event(1, 10, 1, "r", "first"), event(2, 10, 1, "r", "true"), event(3, 10, 1, "r", "true")]
    again = [event(1, 20, 5, "r", "first"), event(3, 20, 6, "r", "last")]
    # 3 was updated, and 7 inserted, in a transaction that was open while the second snapshot was taken.
    others = [
        event(4, 12, 2, "u"),
        event(5, 16, 3, "d"),
        event(6, 21, 7, "u"),
        event(3, 18, 8, "u"),
        event(7, 19, 8, "u"),
    ]
    events = [*killed, *again, *others, *killed, event(6, 30, 9, "r", "incremental")]
    rules = MergeRules.of("id", ghosts="remove")

    with changes_to_merge(table_of(events), rules) as found:
        rows = {row["id"]: (row["n"], row["_sequence"][-1]) for row in found.rows.read_all().to_pylist()}
    assert (rows, found.snapshot) == ({1: (20, 20), 3: (18, 20), 6: (30, 30), 7: (19, 20)}, (20).to_bytes(8, "big"))

    with current_rows(table_of(events), ["id"], ghosts="remove") as found:
        assert {row["id"]: row["n"] for row in found.read_all().to_pylist()} == {1: 20, 3: 18, 6: 30, 7: 19}
    begun = [*events, event(1, 40, 20, "r", "first")]
    with changes_to_merge(table_of(begun), rules) as found:
        assert found.snapshot == (20).to_bytes(8, "big")  # the newest one that has ended
    with changes_to_merge(table_of(killed), rules) as found:
        assert (found.snapshot, found.rows.read_all().num_rows) == (None, 3)
    refused = [
        (table_of(others), "have no snapshot"),
        (table_of(begun), "no event that says last"),
        (table_of(again).set_column(5, TAKEN, pa.nulls(2, TAKEN.type)), "have no time"),
    ]
    for some, said in refused:
        with pytest.raises(ConfigurationError, match=said), current_rows(some, ["id"], ghosts="remove"):
            pass


def test_what_cannot_be_reduced_is_refused():
    truncate = dict.fromkeys(SCHEMA.names) | {"_change_type": "truncate", "_sequence": b"\x01"}
    with pytest.raises(ConfigurationError, match="no merge can follow"), changes_to_merge(batches([truncate]), KEYED):
        pass
    refused = [
        (MergeRules.of("other"), SCHEMA, "have no column other"),
        (MergeRules.of("id", ghosts="remove"), SCHEMA, "no column _op, _snapshot, _ingested_at"),
        (MergeRules.of("id", history="scd2"), SCHEMA, "have no column _source_ts"),
        (MergeRules.of("id", history="scd2"), TIMED.append(pa.field("_current", pa.bool_())), "have _current, which"),
    ]
    for rules, schema, said in refused:
        with pytest.raises(ConfigurationError, match=said), changes_to_merge(schema.empty_table(), rules):
            pass
    with pytest.raises(ConfigurationError, match="needs the columns of its key"), current_rows(batches([]), []):
        pass
    twins = pa.table({name: [] for name in ("id", "ID", "_change_type", "_sequence")})
    with pytest.raises(ConfigurationError, match="columns id, ID, which are one in SQL"), current_rows(twins, ["id"]):
        pass
    with pytest.raises(ConfigurationError, match="but must be a pyarrow"), current_rows([{"id": 1}], ["id"]):
        pass


def test_more_changes_than_there_is_room_for_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(local_changes, "_MEMORY", "20MB")
    count = 1_000_000
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "_change_type": pa.repeat("insert", count),
            "_sequence": pa.repeat(b"\x01", count),
        }
    )
    with pytest.raises(LandingError, match="take smaller ranges, have TMPDIR"), changes_to_merge(table, KEYED):
        pass


def test_columns_may_be_named_as_the_reduction_names_its_own() -> None:
    names = ("last", "last_0", "winners", "whole")
    columns = pa.schema(
        [("id", pa.int32()), *((name, pa.string()) for name in names), *(SCHEMA.field(each) for each in range(3, 6))]
    )
    rows = [
        {"id": 1, **dict.fromkeys(names, "old"), "_change_type": "insert", "_sequence": b"\x01", "_unchanged": []},
        {
            "id": 1,
            **dict.fromkeys(names),
            "_change_type": "update_postimage",
            "_sequence": b"\x02",
            "_unchanged": names,
        },
    ]
    with current_rows(pa.Table.from_pylist(rows, schema=columns), ["id"]) as found:
        assert found.read_all().to_pylist() == [{"id": 1, **dict.fromkeys(names, "old"), "_unchanged": []}]
