"""Every version of every row, as a replay of the changes one by one gives them, whatever the ranges and doubles are."""
# long because: a replay of changes, one by one, and the table that is compared with it, serve all tests here.

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.pravega_jobs.history_table import LANDING, STAGED, Change, Stored, Table

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.merging import Merge, MergeRules, Unsent
from pravega_jobs.merging.columns import new_columns


def replayed(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The versions that changes leave, which are in the order of the database, each once."""
    found: list[dict[str, Any]] = []
    current: dict[tuple[int, str], dict[str, Any]] = {}
    latest: dict[tuple[int, str], int] = {}
    for each in changes:
        key = each.id, each.part
        before = current.get(key)
        if each.kind == "delete":
            values = None
        else:
            big = before["big"] if each.big is ... and before else each.big
            values = {"n": each.n, "big": None if big is ... else big}
        if (before is None and values is None) or (before and values and values.items() <= before.items()):
            continue
        latest[key] = max(each.time, latest.get(key, each.time))
        if before:
            before.update({"to": latest[key], "end": each.at})
            del current[key]
        if values is not None:
            whole = {"key": key, **values, "from": latest[key], "at": each.at, "to": None, "end": None}
            current[key] = whole
            found.append(whole)
    return found


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    """What a database does with a few rows. Values repeat often, and times go back."""
    found: list[Change] = []
    alive: set[tuple[int, str]] = set()
    for number in range(draw(st.integers(1, 30))):
        key = draw(st.integers(1, 3)), draw(st.sampled_from("ab"))
        kind = draw(st.sampled_from(["insert", "update_postimage", "update_postimage", "delete"]))
        kind = kind if key in alive or kind == "delete" else "insert"
        big: Any = draw(st.sampled_from([None, "x", "y"]))
        if kind == "update_postimage" and draw(st.booleans()):
            big = ...
        n = draw(st.sampled_from([None, 1.0, 2.0]))
        found.append(Change(key[0], kind, number + 1, draw(st.integers(0, 5)), n, big, key[1]))
        (alive.discard if kind == "delete" else alive.add)(key)
    return found


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[Change], list[tuple[list[Change], int]]]:
    """A log, and the ranges in which it arrives, with what is repeated; how much of the log had arrived after each."""
    log = draw(logs())
    arrived: list[tuple[Change, int]] = []
    at = reached = 0
    while at < len(log):
        at += 1
        reached = max(reached, at)
        arrived.append((log[at - 1], reached))
        if len(arrived) < 90 and draw(st.integers(0, 6)) == 0:
            at = draw(st.integers(0, at))
    borders = sorted({*draw(st.lists(st.integers(0, len(arrived)), max_size=4)), len(arrived)})
    starts = [0, *borders[:-1]]
    parts = [arrived[start:end] for start, end in zip(starts, borders, strict=True)]
    return log, [([each for each, _ in part], part[-1][1] if part else 0) for part in parts]


def by_key_in_files(changes: Sequence[Change], cut: int) -> Iterator[list[Change]]:
    """Changes as Spark sorts them; one key may be in two files, if these have a greatest number of rows."""
    order = sorted(changes, key=lambda each: (each.id, each.part, each.at))
    yield order[:cut]
    yield order[cut:]


@settings(max_examples=60, deadline=None)
@given(deliveries(), st.integers(0, 20), st.sampled_from([1, 1 << 20]))
def test_versions_are_those_of_a_replay_of_all_changes(
    given: tuple[list[Change], list[tuple[list[Change], int]]], cut: int, size: int
) -> None:
    log, ranges = given
    with tempfile.TemporaryDirectory() as folder:
        table, reached = Table(Path(folder)), 0
        for changes, end in ranges:
            counts = table.take(*by_key_in_files(changes, cut), size=size)
            reached = max(reached, end)
            before, expected = locals().get("expected", []), replayed(log[:reached])
            assert table.versions() == expected
            assert counts.inserted + counts.updated == len(expected) - len(before)
            counted = counts.inserted + counts.updated + counts.deleted + counts.older + counts.absent + counts.same
            assert counted == len(changes)
            # The range again, as after a lost note: all of it is old, or says nothing.
            table.take(*by_key_in_files(changes, cut), size=size)
            assert table.versions() == expected


def test_a_deleted_row_does_not_come_back_by_events_that_are_repeated(table: Table) -> None:
    insert, update, delete = (
        Change(1, "insert", 1, 10, 1.0),
        Change(1, "update_postimage", 2, 20, 2.0),
        Change(1, "delete", 3, 30),
    )
    assert table.take([insert, update, delete]).deleted == 1
    before = table.versions()
    assert [(each["from"], each["to"], each["at"], each["end"]) for each in before] == [(10, 20, 1, 2), (20, 30, 2, 3)]
    assert table.take([insert, update]).older == 2
    assert table.take([update, delete]).older == 2
    assert table.versions() == before
    again = table.take([delete, Change(1, "insert", 4, 40, 1.0)])
    assert (again.older, again.inserted) == (1, 1)
    assert [(each["from"], each["to"]) for each in table.versions()] == [(10, 20), (20, 30), (40, None)]


def test_rows_of_a_repeated_snapshot_open_a_version_only_if_they_differ(table: Table) -> None:
    table.take([Change(1, "insert", 1, 10, 1.0, "x"), Change(2, "insert", 1, 10, 2.0, None)])
    counts = table.take([Change(1, "insert", 9, 90, 1.0, "x"), Change(2, "insert", 9, 90, 2.0, "new")])
    assert (counts.same, counts.updated) == (1, 1)
    assert [(each["key"][0], each["at"], each["end"]) for each in table.versions()] == [
        (1, 1, None),
        (2, 1, 9),
        (2, 9, None),
    ]


def test_a_later_range_wins_at_the_position_of_the_current_version(table: Table) -> None:
    insert, update = Change(1, "insert", 5, 50, 1.0), Change(1, "update_postimage", 5, 50, 2.0)
    assert table.take([insert]).inserted == 1
    assert (table.take([insert]).same, len(table.versions())) == (1, 1)
    assert table.take([update]).updated == 1
    assert table.take([Change(1, "delete", 5, 50)]).deleted == 1
    assert [(each["at"], each["end"]) for each in table.versions()] == [(5, 5), (5, 5)]
    assert table.take([update, Change(1, "delete", 5, 50)]).older == 2


def test_of_changes_at_one_position_a_delete_wins(table: Table) -> None:
    counts = table.take([Change(1, "delete", 5, 50), Change(1, "insert", 5, 50, 1.0)])
    assert (counts.absent, counts.older, table.versions()) == (1, 1, [])


def test_a_time_that_goes_back_overlaps_no_version(table: Table) -> None:
    table.take([Change(1, "insert", 1, 50, 1.0), Change(1, "update_postimage", 2, 20, 2.0)])
    table.take([Change(1, "delete", 3, 30)])
    table.take([Change(1, "insert", 4, 40, 3.0), Change(1, "delete", 5, 60)])
    found = [(each["from"], each["to"]) for each in table.versions()]
    assert found == [(50, 50), (50, 50), (50, 60)]


def test_an_unsent_value_is_that_of_the_version_before_or_refused(table: Table) -> None:
    table.take([Change(1, "insert", 1, 1, 1.0, "x"), Change(1, "update_postimage", 2, 2, 2.0, ...)])
    table.take([Change(1, "update_postimage", 3, 3, 3.0, ...), Change(1, "update_postimage", 4, 4, 4.0, ...)])
    assert [each["big"] for each in table.versions()] == ["x"] * 4
    gone = [Change(1, "delete", 5, 5), Change(1, "update_postimage", 6, 6, 6.0, ...)]
    with pytest.raises(LandingError, match="1 updates do not have the value of big"):
        table.take(gone)
    lenient = Table(table.folder, unsent=Unsent.NULL)
    lenient.files = table.files
    lenient.take(gone)
    assert [each["big"] for each in lenient.versions()] == ["x"] * 4 + [None]


def test_values_that_are_not_numbers_are_equal_and_null_is_a_value(table: Table) -> None:
    nan = float("nan")
    table.take([Change(1, "insert", 1, 1, nan), Change(2, "insert", 2, 2, None, "x")])
    counts = table.take(
        [
            Change(1, "update_postimage", 3, 3, nan),
            Change(1, "update_postimage", 4, 4, 1.0),
            Change(2, "update_postimage", 5, 5, None, None),
        ]
    )
    assert (counts.same, counts.updated) == (1, 2)


def test_files_of_closed_versions_or_out_of_bounds_are_not_written_again(table: Table) -> None:
    table.take([Change(each, "insert", each, 1, 1.0) for each in range(1, 5)])
    table.take([Change(each, "insert", each, 1, 1.0) for each in range(11, 15)])
    table.take([Change(1, "update_postimage", 21, 2, 2.0)])
    before = table.files
    table.take([Change(1, "update_postimage", 22, 3, 3.0), Change(12, "insert", 23, 4, 1.0)])
    assert len(before) == 3
    assert [any(each is file for file in table.files) for each in before] == [True, False, True]
    for file in table.files:
        assert len(set(file.read(table.schema)["_current"].to_pylist())) == 1
    unread = Stored(pa.table({}), (11, 14))  # it has no columns to be read
    table.files = [unread, *(file for file in table.files if file.bounds != (11, 14))]
    assert table.take([Change(1, "update_postimage", 24, 5, 4.0)]).updated == 1


def test_rows_of_an_existing_table_are_versions_from_before_all_changes(table: Table) -> None:
    row = {"id": 1, "part": "a", "n": 1.0, "tags": ["1.0"]}
    table.files = [Stored(pa.Table.from_pylist([row], table.schema))]
    counts = table.take([Change(1, "update_postimage", 1, 10, 2.0, "x")])
    assert counts.updated == 1
    assert [(each["_valid_from"], each["_current"]) for each in table.rows() if each["n"] == 1.0] == [(None, False)]
    table.files = [Stored(pa.Table.from_pylist([row, row], table.schema))]
    with pytest.raises(LandingError, match="two current versions of the key {'id': 1, 'part': 'a'}"):
        table.take([Change(1, "update_postimage", 1, 10, 2.0, "x")])


def test_what_cannot_be_a_history_is_refused(table: Table) -> None:
    timeless = pa.Table.from_pylist([Change(1, "insert", 1, 1).staged() | {"_source_ts": None}], STAGED)
    with pytest.raises(LandingError, match="1 changes have no _source_ts"):
        table.take(timeless)
    table.take([Change(1, "insert", 1, 1, 1.0)])
    foreign = pa.Table.from_pylist([Change(1, "delete", 1, 1).staged() | {"_sequence": b"x" * 24}], STAGED)
    with pytest.raises(LandingError, match="of two kinds"):
        table.take(foreign)
    for more, message in (
        ({"deletes": "soft"}, "leave out deletes='soft'"),
        ({"ghosts": "remove"}, "cannot remove ghosts"),
        ({"history": "scd1"}, "history is none, scd2, not 'scd1'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            MergeRules.of("id", **{"history": "scd2"} | more)
    plain = pa.schema([each for each in table.schema if not each.name.startswith("_")])
    lacks = "lacks _sequence binary, _valid_from timestamp, _valid_to timestamp, _current boolean, _end_sequence binary"
    with pytest.raises(LandingError, match=lacks):
        new_columns(plain, STAGED, table.merge)
    with pytest.raises(LandingError, match="the table has _end_sequence: it keeps every version of a row"):
        new_columns(table.schema, STAGED, Merge(LANDING, MergeRules(("id",))))
