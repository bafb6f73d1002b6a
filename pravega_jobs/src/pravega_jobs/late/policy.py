"""The policy about late events: report them, run their intervals again at once, or when enough of them are there."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.rules import choice
from pravega_jobs.late.found import LateEvents, LateInterval


class OnLate(StrEnum):
    """Choices for late events.

    REPORT: name them. RERUN: run their intervals again after each search that has found some. COLLECT: run an interval
    again when it has so many of them, or when the first of them was found so long ago.
    """

    REPORT = "report"
    COLLECT = "collect"
    RERUN = "rerun"


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """The policy: `after_events` and `after` belong to `collect`, which needs one of them.

    Raises:
        ConfigurationError: the limits do not fit the choice.
    """

    late: OnLate
    after_events: int | None = None
    after: timedelta | None = None

    def __post_init__(self) -> None:
        given = self.after_events is not None or self.after is not None
        if given and self.late is not OnLate.COLLECT:
            raise ConfigurationError(
                "late_after_events and late_after say when collected events are enough, but late is "
                f"{self.late.value!r}: leave them out, or say late='collect'"
            )
        if not given and self.late is OnLate.COLLECT:
            raise ConfigurationError(
                "late='collect' needs a limit: give late_after_events, a number of events, or late_after, a time such "
                "as timedelta(days=1), or both. To run intervals again after each search, say late='rerun'"
            )
        if self.after_events is not None and self.after_events < 1:
            raise ConfigurationError(f"late_after_events is {self.after_events}, but must be at least 1")
        if self.after is not None and self.after < timedelta():
            raise ConfigurationError(f"late_after is {self.after}, but must not be negative")

    @classmethod
    def of(cls, late: str, after_events: int | None = None, after: timedelta | None = None) -> Self:
        """The policy by the text of its choice.

        Raises:
            ConfigurationError: the choice is not known, or the limits do not fit it.
        """
        return cls(choice(late, OnLate, "late"), after_events, after)

    def due(self, found: LateEvents, now: datetime) -> list[LateInterval]:
        """The intervals that are to be run again now; an interval whose newest claim is not done is waited for."""
        return [interval for interval in found.intervals if interval.is_settled and self._is_enough(interval, now)]

    def _is_enough(self, interval: LateInterval, now: datetime) -> bool:
        match self.late:
            case OnLate.REPORT:
                return False
            case OnLate.RERUN:
                return True
        many = self.after_events is not None and interval.events >= self.after_events
        return many or (self.after is not None and now - interval.found_at >= self.after)
