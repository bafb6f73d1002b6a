"""Pictures in characters: a consumer's intervals over time, and the lag of a reader group over time.

The first has one line per interval, in the order of the stream, from the time of its claim to the time at which it was
done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from aiopravega.ledger import CutRecord

_ROWS: Final = 40
_COLUMNS: Final = 60
_NEVER, _DONE, _OPEN = "·", "█", "░"
_LONGEST_NAME: Final = 40
_LAG_COLUMNS: Final = 50
_MOMENT: Final = timedelta(milliseconds=1)


def draw_text(records: Sequence[CutRecord], now: datetime | None = None) -> str:
    """The picture of intervals: `█` from claimed to done, `░` claimed but not done (or failed), `·` nothing.

    A line of many intervals has several of them; it is open where one of them is open.
    """
    if not records:
        return "no intervals\n"
    first, last = span(records, now)
    size = -(-len(records) // _ROWS)
    groups = [records[start : start + size] for start in range(0, len(records), size)]
    labels = [_label(group) for group in groups]
    width = max(map(len, labels))
    lines = [f"{'':{width}}  {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"]
    step = (last - first) / _COLUMNS
    for label, group in zip(labels, groups, strict=True):
        done = sum(not record.is_waiting for record in group)
        bar = "".join(_cell(group, first + column * step, first + (column + 1) * step) for column in range(_COLUMNS))
        lines.append(f"{label:{width}}  {bar}  {done} of {len(group)} done" if size > 1 else f"{label:{width}}  {bar}")
    return "\n".join(lines) + "\n"


def span(records: Sequence[CutRecord], now: datetime | None) -> tuple[datetime, datetime]:
    """The first and the last moment of a picture; the last is `now`, by default this moment, if an interval waits."""
    ends = [over for record in records if (over := over_at(record)) is not None]
    if len(ends) < len(records):
        ends.append(now or datetime.now(UTC))
    first = min(record.recorded_at for record in records)
    return first, max(*ends, first + _MOMENT)


def over_at(record: CutRecord) -> datetime | None:
    """The time at which an interval was done or skipped; None: neither."""
    return None if record.is_waiting else record.changed_at


@dataclass(frozen=True, slots=True)
class LagPoint:
    """The lag of a group at some time: bytes after what was read, and bytes after its last checkpoint."""

    time: datetime
    lag_bytes: int
    unread_bytes: int


def lag_line(point: LagPoint, greatest: int) -> str:
    """A line of the picture of a lag: its bar is the lag relative to the greatest."""
    bar = "█" * round(_LAG_COLUMNS * point.lag_bytes / max(1, greatest))
    return f"{point.time:%H:%M:%S}  {point.lag_bytes:>15,}  {bar}"


def _name(record: CutRecord) -> str:
    """An interval's name, or its event times in a short form."""
    if record.since is None or record.until is None:
        return record.interval[:_LONGEST_NAME]
    whole_days = record.since.time() == record.until.time() == time()
    return " to ".join(
        f"{edge:%Y-%m-%d}" if whole_days else f"{edge:%Y-%m-%d %H:%M:%S}" for edge in (record.since, record.until)
    )


def _label(group: Sequence[CutRecord]) -> str:
    name = _name(group[0])
    return name if len(group) == 1 else f"{name} and {len(group) - 1} more"


def _cell(group: Sequence[CutRecord], begin: datetime, end: datetime) -> str:
    there = [each for each in group if each.recorded_at <= end and ((over := over_at(each)) is None or over >= begin)]
    if not there:
        return _NEVER
    return _OPEN if any(record.is_waiting for record in there) else _DONE
