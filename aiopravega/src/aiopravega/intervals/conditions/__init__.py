"""Conditions: how far a stream has moved, and the end of the range that they allow."""

from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch

__all__ = ["Combine", "MoveCondition", "StreamWatch"]
