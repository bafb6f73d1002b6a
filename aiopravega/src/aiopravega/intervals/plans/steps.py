"""Steps through time: a day, a quarter of an hour, a month of the calendar."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from aiopravega.errors import ConfigurationError

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAY: Final = timedelta(days=1)
_MONTH: Final = "mo"
_MONTHS_OF_A_YEAR: Final = 12
_TEXT: Final = re.compile(r"(\d+) ?([a-z]+)")
# More is a mistake in the arguments: each is a task of a scheduler, or a program that is started.
_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """A length of time, or a number of months."""

    length: timedelta = timedelta()
    months: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `15m`, `6h`, `1d`, `1w` or `1mo`.

        Raises:
            ConfigurationError: the text is not a step.
        """
        matched = _TEXT.fullmatch(text.strip().lower())
        unit = matched[2] if matched else ""
        if matched is None or unit not in {*_SECONDS, _MONTH} or not int(matched[1]):
            raise ConfigurationError(
                f"{text!r} is not a step in time: give a number and one of {', '.join(_SECONDS)}, {_MONTH}"
            )
        if unit == _MONTH:
            return cls(months=int(matched[1]))
        return cls(timedelta(seconds=int(matched[1]) * _SECONDS[unit]))

    def times(self, since: datetime, until: datetime) -> list[datetime]:
        """The edges of the intervals between two times; the last interval may be shorter.

        Days, weeks and months are those of the zone of `since`: a day may have 23 or 25 hours. Hours always have 60
        minutes.

        Raises:
            ConfigurationError: there are too many intervals, or a month lacks the day of the month of `since`.
        """
        edges: list[datetime] = []
        # Times of one zone compare as its clocks show them: moments are compared.
        end = until.astimezone(UTC)
        while (edge := self._after(since, len(edges))).astimezone(UTC) < end:
            edges.append(edge)
            if len(edges) > _MOST:
                raise ConfigurationError(f"the step is too short: these would be more than {_MOST:,} intervals")
        return [*edges, until]

    def _after(self, since: datetime, steps: int) -> datetime:
        if not self.months and self.length % _DAY:
            return (since.astimezone(UTC) + steps * self.length).astimezone(since.tzinfo)
        if not self.months:
            return since + steps * self.length
        years, month = divmod(since.month - 1 + steps * self.months, _MONTHS_OF_A_YEAR)
        try:
            return since.replace(year=since.year + years, month=month + 1)
        except ValueError:
            raise ConfigurationError(
                f"steps of months from {since.isoformat()} reach a month without this day: start on a day of all months"
            ) from None
