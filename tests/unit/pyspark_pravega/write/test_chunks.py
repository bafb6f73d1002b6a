"""Batches are joined and cut to a size that suits the segments, without losing or moving a row."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pravega.write.lanes import chunks

MEGABYTE = 1024 * 1024


def batch(events: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch({"event": pa.array(events, pa.binary())})


def events_of(batches: list[pa.RecordBatch]) -> list[bytes]:
    return [event for found in batches for event in found.column(0).to_pylist()]


@given(st.lists(st.lists(st.binary(max_size=50), max_size=10), max_size=10), st.integers(1, 500))
def test_every_row_comes_once_and_in_order(batches: list[list[bytes]], wanted: int) -> None:
    found = list(chunks(map(batch, batches), wanted))

    assert events_of(found) == [event for events in batches for event in events]
    assert all(chunk.num_rows for chunk in found)


def test_small_batches_are_joined_until_they_are_large_enough() -> None:
    found = list(chunks([batch([b"x" * 100])] * 100, 1000))

    assert 1 < len(found) <= 10


def test_a_large_batch_is_cut() -> None:
    found = list(chunks([batch([b"x" * MEGABYTE] * 64)], 4 * MEGABYTE))

    assert len(found) >= 4
    assert max(chunk.nbytes for chunk in found) < 20 * MEGABYTE
