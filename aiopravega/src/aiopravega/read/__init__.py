"""Bounded reads: from a range of StreamCuts to events, or to blocks of them."""

from aiopravega.read.events import Event, read_ranges, read_segment
from aiopravega.read.history import Order
from aiopravega.read.plan import Planner
from aiopravega.read.pointer import EventPointer, fetch_event, fetch_events

__all__ = [
    "Event",
    "EventPointer",
    "Order",
    "Planner",
    "fetch_event",
    "fetch_events",
    "read_ranges",
    "read_segment",
]
