"""Late events: found after their interval of event times was claimed, and given to their interval by a later claim."""

from pravega_jobs.late.finding import find_late_events, known_late_events
from pravega_jobs.late.found import LateEvents, LateInterval
from pravega_jobs.late.policy import LatePolicy, OnLate

__all__ = ["LateEvents", "LateInterval", "LatePolicy", "OnLate", "find_late_events", "known_late_events"]
