"""The checksum of rows depends on the rows only, and differs for other rows."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.ledger import Fingerprint
from aiopravega.ledger.commits.fingerprint import event_hash
from pyspark_pravega.write.lanes import positions_of
from pyspark_pravega.write.row_hashes import RowTally, row_hashes

Row = tuple[bytes, str | None]
ROWS = st.lists(st.tuples(st.binary(max_size=300), st.none() | st.text(max_size=3)), max_size=30)


def positions(rows: list[Row]) -> npt.NDArray[np.float64]:
    return positions_of(pa.array([key for _, key in rows], pa.string()))


def events(rows: list[Row]) -> pa.BinaryArray:
    return pa.array([event for event, _ in rows], pa.binary())


def tally(*batches: list[Row]) -> RowTally:
    made = RowTally()
    for rows in batches:
        made.add(events(rows), positions(rows))
    return made


@given(ROWS)
@example([])
def test_whole_arrays_are_hashed_like_single_rows(rows: list[Row]) -> None:
    assert row_hashes(events(rows), positions(rows)).tolist() == [event_hash(*row) for row in rows]


def test_many_large_events_are_hashed_like_single_ones() -> None:
    rows: list[Row] = [(bytes([number % 256]) * 40_000, str(number % 5)) for number in range(20)]

    assert row_hashes(events(rows), positions(rows)).tolist() == [event_hash(*row) for row in rows]


def test_hashes_stay_what_they_are_because_ledgers_keep_them() -> None:
    """Another rule needs another version of the ledger's records, so that old ones are not compared with it."""
    rows: list[Row] = [(b"", None), (b"a", "k"), (b"x" * 1000, "k")]

    assert row_hashes(events(rows), positions(rows)).tolist() == [
        18446744073709551615,
        476778367933918427,
        7540226441765537615,
    ]
    assert tally(rows).checksum == "c58418406601f55a"


@given(ROWS)
def test_a_fingerprint_has_number_and_bytes_of_the_frames(rows: list[Row]) -> None:
    found = tally(rows).fingerprint

    assert found.events == len(rows)
    assert found.bytes == sum(len(event) + wire.EVENT_HEADER for event, _ in rows)
    assert found.hashes == sum(event_hash(*row) for row in rows) % 2**64


@given(ROWS, st.randoms(), st.integers(0, 30))
def test_a_fingerprint_ignores_order_batches_and_partitions(rows, random, border) -> None:
    shuffled = random.sample(rows, len(rows))

    whole = tally(rows).fingerprint

    assert tally(shuffled[:border], shuffled[border:]).fingerprint == whole
    assert tally(shuffled[:border]).fingerprint + tally(shuffled[border:]).fingerprint == whole


@given(ROWS, st.integers(0, 30))
def test_a_slice_is_hashed_like_its_rows(rows: list[Row], border: int) -> None:
    hashes = row_hashes(events(rows).slice(border), positions(rows)[border:])

    assert hashes.tolist() == [event_hash(*row) for row in rows[border:]]


def test_a_column_of_null_keys_does_not_change_the_hashes() -> None:
    rows: list[Row] = [(b"a", None), (b"b", None)]

    assert row_hashes(events(rows), None).tolist() == row_hashes(events(rows), positions(rows)).tolist()


@given(ROWS, st.integers(0, 30))
def test_a_checksum_depends_on_the_order_and_not_on_the_batches(rows: list[Row], border: int) -> None:
    assert tally(rows[:border], rows[border:]).checksum == tally(rows).checksum
    if rows != rows[::-1]:
        assert tally(rows[::-1]).checksum != tally(rows).checksum


SETS: dict[str, list[Row]] = {
    "nothing": [],
    "an empty event": [(b"", None)],
    "an empty event with an empty key": [(b"", "")],
    "one": [(b"a", None)],
    "one twice": [(b"a", None), (b"a", None)],
    "with a key": [(b"a", "k")],
    "with another key": [(b"a", "l")],
    "two": [(b"a", "k"), (b"b", "l")],
    "two with their keys changed round": [(b"a", "l"), (b"b", "k")],
    "joined": [(b"ab", "k"), (b"", "l")],
    "a zero more": [(b"a\0", None)],
}


@pytest.mark.parametrize(("one", "other"), [*combinations(SETS, 2)])
def test_other_rows_have_another_fingerprint(one: str, other: str) -> None:
    assert tally(SETS[one]).fingerprint != tally(SETS[other]).fingerprint


def test_rows_that_differ_a_little_have_hashes_of_their_own() -> None:
    rows: list[Row] = [
        (b'{"id": %d, "at": %d}' % (number, other), None) for number in range(300) for other in range(300)
    ]

    hashes = row_hashes(events(rows), None)

    assert len(np.unique(hashes)) == len(rows)
    ones = sum(np.count_nonzero(hashes >> np.uint64(bit) & np.uint64(1)) for bit in range(64)) / (64 * len(rows))
    assert ones == pytest.approx(0.5, abs=0.001)


def test_fingerprints_add_up() -> None:
    assert Fingerprint(1, 9, 2**64 - 1) + Fingerprint(2, 18, 3) == Fingerprint(3, 27, 2)
