"""Steps through time: a day, a quarter of an hour, a month of the calendar. Nothing here knows streams."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from aiopravega.errors import ConfigurationError

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MONTH: Final = "mo"
_MONTHS_OF_A_YEAR: Final = 12
_TEXT: Final = re.compile(r"(\d+) ?([a-z]+)")
# More would be a mistake: each is a task of some scheduler, or a program that is started.
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
        """The edges of the intervals between two times; the last interval may be a shorter one.

        Raises:
            ConfigurationError: these are too many, or a month lacks the day of the month at which they begin.
        """
        found: list[datetime] = []
        while (edge := self._after(since, len(found))) < until:
            found.append(edge)
            if len(found) > _MOST:
                raise ConfigurationError(f"the step is too short: these would be more than {_MOST:,} intervals")
        return [*found, until]

    def _after(self, since: datetime, steps: int) -> datetime:
        if not self.months:
            return since + steps * self.length
        years, month = divmod(since.month - 1 + steps * self.months, _MONTHS_OF_A_YEAR)
        try:
            return since.replace(year=since.year + years, month=month + 1)
        except ValueError:
            raise ConfigurationError(
                f"steps of months from {since.isoformat()} reach a month without this day: start on a day of all months"
            ) from None
