"""Replays of errors: events that can be decoded now become rows of their table or their stream, exactly once."""

from pravega_jobs.replays.calls import replay_errors
from pravega_jobs.replays.mending import Replayed

__all__ = ["Replayed", "replay_errors"]
