"""Rows go to the segments that own their keys, and keep their order there."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamName
from aiopravega.control import KeyRange
from aiopravega.routing import SegmentMap, key_position
from pyspark_pravega.write.lanes import Router, positions_of

KEYS = st.lists(st.none() | st.text(max_size=5) | st.sampled_from(["a", "b", "c"]), max_size=60)
EDGES = st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=9, unique=True)


def segments(edges: list[float]) -> SegmentMap:
    bounds = [0.0, *sorted(edges), 1.0]
    stream = StreamName("examples", "orders")
    return SegmentMap([KeyRange(SegmentId(stream, number, 0), *ends) for number, ends in enumerate(pairwise(bounds))])


@given(KEYS, EDGES)
def test_a_row_goes_to_the_segment_of_its_key(keys: list[str | None], edges: list[float]) -> None:
    owners = segments(edges)
    router = Router(owners)

    lanes = router.lanes_of(positions_of(pa.array(keys, pa.string())))

    expected = [router.keyless if key is None else owners.index_for(key_position(key)) for key in keys]
    assert lanes.tolist() == expected


@given(KEYS, EDGES)
def test_grouped_rows_keep_their_order_within_each_segment(keys: list[str | None], edges: list[float]) -> None:
    router = Router(segments(edges))
    array = pa.array(keys, pa.string())

    positions = positions_of(array)
    order, bounds = router.group(positions)

    lanes = router.lanes_of(positions_of(array))
    for lane in range(router.lanes + 1):
        rows = order[bounds[lane] : bounds[lane + 1]].tolist()
        assert rows == [row for row in range(len(keys)) if lanes[row] == lane]
    found = [None if np.isnan(position) else position for position in positions.tolist()]
    assert found == [None if key is None else key_position(key) for key in keys]


@given(KEYS)
def test_a_slice_is_routed_like_its_rows(keys: list[str | None]) -> None:
    router = Router(segments([0.25, 0.5, 0.75]))
    array = pa.array(keys, pa.string())

    whole = router.lanes_of(positions_of(array)).tolist()

    assert router.lanes_of(positions_of(array.slice(len(keys) // 2))).tolist() == whole[len(keys) // 2 :]
