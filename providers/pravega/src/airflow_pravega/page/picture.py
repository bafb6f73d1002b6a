"""The picture of a consumer: a line for each interval, from the record of its range to its last change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega.intervals.reports.picture import over_at, span
from aiopravega.ledger import CutRecord

_WIDTH: Final = 1000.0
_LINE: Final = 9.0
_THICK: Final = 7.0
# The least width, for an interval that has ended at once.
_THINNEST: Final = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval, in units of the picture; `state` is the CSS class of its colour."""

    x: float
    y: float
    width: float
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars from `first` on the left to `last` on the right."""

    bars: Sequence[Bar]
    first: datetime
    last: datetime
    width: float
    height: float
    thick: float = _THICK


def picture_of(records: Sequence[CutRecord], now: datetime | None = None) -> Picture:
    """Draw intervals, at least one; an interval that waits lasts until `now`, by default this moment."""
    first, last = span(records, now)

    def position(moment: datetime) -> float:
        return round(_WIDTH * ((moment - first) / (last - first)), 1)

    bars = []
    for row, record in enumerate(records):
        start, end = position(record.recorded_at), position(over_at(record) or last)
        bars.append(
            Bar(
                x=min(start, _WIDTH - _THINNEST),
                y=row * _LINE,
                width=max(end - start, _THINNEST),
                state=record.state.value.replace(" ", "-"),
                text=f"{record.interval}: {record.state.value}",
            )
        )
    return Picture(bars, first, last, _WIDTH, len(records) * _LINE)
