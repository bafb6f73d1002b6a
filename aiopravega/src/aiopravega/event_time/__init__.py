"""Event time: writers note how far they are, marks say it for the stream, and times become ranges of the stream."""

from aiopravega.event_time.answers import CutAt, Reach, TimeBounds
from aiopravega.event_time.calls import TimeCalls
from aiopravega.event_time.marks import Watermark

__all__ = ["CutAt", "Reach", "TimeBounds", "TimeCalls", "Watermark"]
