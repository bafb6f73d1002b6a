"""Columns about the position of an event, without Spark."""

import subprocess
import sys

import numpy as np
import pyarrow as pa

from aiopravega.names import SegmentId, StreamName
from aiopravega.schema.arrow.arrays import values_of
from pravega_jobs.frames.position_columns import PositionColumns

SEGMENT = SegmentId(StreamName("scope", "stream"), 3, 1)
EVENTS = values_of([b"", b"four", b"123456"], pa.binary())
OFFSETS = np.array([0, 8, 20], np.int64)
ASKED = ("segment", "event_pointer")


def columns(events=EVENTS, offsets=OFFSETS, taken=None):
    made = PositionColumns.of(ASKED, "", None)
    return dict(
        zip(made.names, (one.to_pylist() for one in made.columns(events, offsets, SEGMENT, taken)), strict=True)
    )


def test_each_row_has_the_position_of_its_event():
    assert columns() == {
        "event": [b"", b"four", b"123456"],
        "scope": ["scope"] * 3,
        "stream": ["stream"] * 3,
        "segment_id": [SEGMENT.to_int()] * 3,
        "offset": [0, 8, 20],
        "segment": [str(SEGMENT)] * 3,
        "event_pointer": [f"{SEGMENT}:0-8", f"{SEGMENT}:8-12", f"{SEGMENT}:20-14"],
    }
    later = columns(EVENTS.slice(1), OFFSETS[1:])
    assert later["event_pointer"] == columns()["event_pointer"][1:]
    assert columns(taken=np.array([2, 2, 0]))["event"] == [b"123456", b"123456", b""]
    assert columns(EVENTS.slice(3), OFFSETS[3:])["scope"] == []


def test_rows_of_raw_events_need_no_pandas_which_takes_half_a_second():
    program = """
import sys
from tests.unit.pravega_jobs.test_frame_positions import EVENTS, OFFSETS, SEGMENT, PositionColumns
before = "pandas" in sys.modules
PositionColumns.of(("segment", "event_pointer"), "", None).columns(EVENTS, OFFSETS, SEGMENT, OFFSETS[:0])
print(before, "pandas" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "False False\n"
