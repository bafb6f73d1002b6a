"""Routing keys land where the Java client puts them."""

import json
from pathlib import Path

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamName
from aiopravega.control import KeyRange
from aiopravega.errors import ProtocolError
from aiopravega.routing import SegmentMap, first_half, key_position, table_key_position

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "java-client.json").read_text())
TABLE_KEYS = json.loads((FOLDER / "java-table-keys.json").read_text())
STREAM = StreamName("examples", "orders")


def key_range(number: int, low: float, high: float) -> KeyRange:
    return KeyRange(SegmentId(STREAM, number, 0), low, high)


@pytest.mark.parametrize("vector", VECTORS["routing_key_hash"], ids=lambda vector: vector["key"][:20])
def test_keys_have_the_java_clients_positions(vector):
    assert key_position(vector["key"]) == vector["position"]


def test_keys_of_tables_have_the_java_clients_positions():
    positions = {entry["key"]: entry["position"] for entry in TABLE_KEYS}
    assert {key: table_key_position(bytes.fromhex(key)) for key in positions} == positions
    assert len(positions) == 200


@given(st.binary(max_size=80), st.integers(0, 2**31 - 1))
def test_the_hash_is_that_of_the_library_where_the_seed_is_not_negative(data, seed):
    assert first_half(data, seed) == int.from_bytes(mmh3.mmh3_x64_128_digest(data, seed)[:8], "little")


def test_a_position_belongs_to_the_segment_whose_range_holds_it():
    segments = SegmentMap([key_range(2, 0.5, 1.0), key_range(0, 0.0, 0.25), key_range(1, 0.25, 0.5)])

    owners = [segments.segment_for(position).number for position in (0.0, 0.2499, 0.25, 0.5, 0.9999999)]

    assert owners == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    "ranges",
    [[], [(0.0, 0.5)], [(0.0, 0.4), (0.5, 1.0)], [(0.0, 0.6), (0.5, 1.0)], [(0.1, 1.0)]],
    ids=["none", "half", "gap", "overlap", "late start"],
)
def test_ranges_that_do_not_cover_the_key_space_are_refused(ranges):
    with pytest.raises(ProtocolError):
        SegmentMap([key_range(number, *edges) for number, edges in enumerate(ranges)])
