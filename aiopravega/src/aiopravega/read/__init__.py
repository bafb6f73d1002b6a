"""Bounded reads: from a range of StreamCuts to events, or to blocks of them."""

from aiopravega.read.events import Event, read_ranges, read_segment
from aiopravega.read.plan import Planner

__all__ = ["Event", "Planner", "read_ranges", "read_segment"]
