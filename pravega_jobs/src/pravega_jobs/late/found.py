"""The late events of a consumer, as a search returns them: for each interval how many, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class LateInterval:
    """An interval with late events: events of its times that lie after the range of its newest claim.

    Attributes:
        interval: the name of the interval.
        since: the start of its event times, which is included.
        until: their end, which is not.
        claim: the number of its newest claim.
        is_settled: True if the newest claim is done or skipped; otherwise a run may be processing it.
        events: the number of late events.
        new: how many of them this search has found.
        first: the pointer to the first one, in the order of the searches.
        last: the pointer to the last one.
        found_at: the moment at which a search found the first one.
    """

    interval: str
    since: datetime
    until: datetime
    claim: int
    is_settled: bool
    events: int
    new: int
    first: str
    last: str
    found_at: datetime

    @property
    def next_claim(self) -> int:
        """The number of the claim that has these events."""
        return self.claim + 1

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for XComs and metadata."""
        return {
            "interval": self.interval,
            "since": self.since.astimezone(UTC).isoformat(),
            "until": self.until.astimezone(UTC).isoformat(),
            "claim": self.claim,
            "settled": self.is_settled,
            "events": self.events,
            "new": self.new,
            "first": self.first,
            "last": self.last,
            "found_at": self.found_at.astimezone(UTC).isoformat(),
        }

    def __str__(self) -> str:
        events = f"{self.events:,} late events ({self.new:,} of them new)"
        waits = "" if self.is_settled else f"; claim {self.claim} is not done yet"
        return f"{self.interval}: {events}, from {self.first} to {self.last}{waits}"


@dataclass(frozen=True, slots=True)
class LateEvents:
    """The late events of a consumer of a stream.

    Attributes:
        stream: the stream.
        consumer: the consumer.
        range: the range that was read; None: the consumer has no interval yet.
        intervals: the intervals with late events, in the order of their times. Events that an earlier search has found
            are among them until a later claim of the interval has them.
        searched: the number of intervals that were searched for.
        is_whole: False if a limit of bytes ended the search before the tail: search again.
        lost: a sentence about a part that could not be searched, because it is gone; None: there is none.
    """

    stream: StreamName
    consumer: str
    range: StreamCutRange | None
    intervals: Sequence[LateInterval] = ()
    searched: int = 0
    is_whole: bool = True
    lost: str | None = None

    @property
    def events(self) -> int:
        """The number of late events in all intervals."""
        return sum(interval.events for interval in self.intervals)

    @property
    def end(self) -> StreamCut:
        """The cut up to which the stream was searched.

        Raises:
            ConfigurationError: the consumer has no interval, so that nothing was searched.
        """
        if self.range is None:
            raise ConfigurationError(f"{self.text}: nothing was searched")
        return self.range.end

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for XComs and metadata."""
        return {
            "stream": str(self.stream),
            "consumer": self.consumer,
            **({} if self.range is None else self.range.to_json()),
            "searched": self.searched,
            "whole": self.is_whole,
            "lost": self.lost,
            "events": self.events,
            "intervals": [interval.to_json() for interval in self.intervals],
        }

    @property
    def text(self) -> str:
        """The result as text for a log: the first intervals, and the number of the others."""
        about = f"{self.consumer!r} on {self.stream}"
        if self.range is None:
            return f"{about} has no interval of event times yet"
        some = [str(interval) for interval in self.intervals[:_MOST_SHOWN]]
        more = len(self.intervals) - len(some)
        lines = [
            f"{about}: {self.events:,} late events in {len(self.intervals):,} of {self.searched:,} intervals",
            *([f"not searched: {self.lost}"] if self.lost else []),
            *some,
            *([f"and {more:,} intervals more"] if more else []),
            *([] if self.is_whole else ["the search ended at its limit of bytes: search again"]),
        ]
        return "\n".join(lines)
