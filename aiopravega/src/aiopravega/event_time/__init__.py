"""Event time: writers note how far they have come, marks say it of the stream, and times become ranges of it."""

from aiopravega.event_time.calls import TimeCalls

__all__ = ["TimeCalls"]
