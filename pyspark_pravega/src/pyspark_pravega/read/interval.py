"""Options of an interval of event times, read once and checked before any work starts.

The stream's watermarks give the range that surely holds the interval, and `pravega_jobs.decoding.event_times` selects
its rows.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.times import EventTime, TimeUnit
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.spark.options import INTERVAL_OPTIONS, TIME_OPTION, TIME_UNIT_OPTION

_FROM, _TO, _AHEAD, _CLIP = INTERVAL_OPTIONS
_NUMBER: Final = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """The rows with `since <= column < until`.

    Numbers are in the unit of the stream's writers. `ahead` and `clip` are arguments of `PravegaClient.range_for`.
    """

    column: str
    since: EventTime
    until: EventTime
    unit: TimeUnit = TimeUnit.MS
    ahead: timedelta | None = None
    clip: bool = False

    @classmethod
    def parse(cls, given: Options) -> Self | None:
        """Read the options; None if they give no interval.

        Raises:
            ConfigurationError: an option is missing or cannot work, such as a time without a zone.
        """
        texts = given.text(_FROM), given.text(_TO)
        if texts == (None, None):
            return None
        column = given.text(TIME_OPTION)
        if None in texts:
            raise ConfigurationError(
                f"options {_FROM!r} and {_TO!r} belong together: the start, and the end that is not included"
            )
        if column is None:
            raise ConfigurationError(
                f"options {_FROM!r} and {_TO!r} need option {TIME_OPTION!r}: the column that has the events' times"
            )
        ahead, unit = given.number(_AHEAD, 0), given.time_unit()
        since, until = (_time(given, option, unit) for option in (_FROM, _TO))
        if not unit.first_number(since) < unit.first_number(until):
            raise ConfigurationError(
                f"options {_FROM!r} and {_TO!r} are {texts[0]} and {texts[1]}: nothing is between them"
            )
        return cls(
            column,
            since,
            until,
            unit,
            None if ahead is None else timedelta(milliseconds=ahead),
            given.flag(_CLIP, False),
        )

    def numbers(self, unit: TimeUnit) -> tuple[int, int]:
        """The bounds as a column counts them: a whole time is in the interval if `start <= time < end`."""
        start, end = (
            -(-time * self.unit // unit) if isinstance(time, int) else unit.first_number(time)
            for time in (self.since, self.until)
        )
        return start, end

    def range_in(self, client: PravegaClient, stream: StreamName) -> StreamCutRange:
        """The smallest range of a stream that surely holds the interval.

        Raises:
            PravegaError: the range is not known, or gone; see `PravegaClient.range_for`.
        """
        interval = self.since, self.until
        return client.range_for(stream, interval, ahead=self.ahead, clip=self.clip, unit=self.unit)


def _time(given: Options, option: str, unit: TimeUnit) -> EventTime:
    text = (given.text(option) or "").strip()
    try:
        time: EventTime = int(text) if _NUMBER.fullmatch(text) else datetime.fromisoformat(text)
        unit.number(time)
    except ConfigurationError as error:
        raise ConfigurationError(f"option {option!r}: {error}") from None
    except ValueError:
        raise ConfigurationError(
            f"option {option!r} is {text!r}, but must be a time with its zone, such as 2013-01-01T00:00:00Z, or a "
            f"number in the unit of option {TIME_UNIT_OPTION!r}"
        ) from None
    return time
