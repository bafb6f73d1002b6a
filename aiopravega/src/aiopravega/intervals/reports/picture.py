"""What was processed when: a picture of a consumer's intervals, as text or as a PNG file.

One line per interval, in the order of the stream, from the time at which somebody took its range to the time at which
it was done.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord

_ROWS: Final = 40
_COLUMNS: Final = 60
_NEVER, _DONE, _OPEN = "·", "█", "░"
_LONGEST_NAME: Final = 40
# Names beside the picture, at most one more: a year has twelve months.
_TICKS: Final = 12
_INCHES: Final = (11.0, 6.0)
_LINE_POINTS: Final = 300.0  # that all lines of the picture share
_THICKEST_POINTS: Final = 14.0
_MOMENT: Final = timedelta(milliseconds=1)


def draw_text(records: Sequence[CutRecord], now: datetime | None = None) -> str:
    """The picture in characters: `█` from taken to done, `░` taken but not done (or failed), `·` nothing.

    Where there are many intervals, a line stands for several; it has an open one if one of them is open.
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


def draw_png(records: Sequence[CutRecord], path: Path, now: datetime | None = None) -> None:
    """The picture in a PNG file.

    Raises:
        ConfigurationError: there are no intervals, or what draws them is not installed.
    """
    if not records:
        raise ConfigurationError("there are no intervals to draw")
    plt = plotting()
    from matplotlib.patches import Patch

    first, last = span(records, now)
    figure, axes = plt.subplots(figsize=_INCHES)
    keys = []
    for state, colour in (("open", "tab:orange"), ("done", "tab:green")):
        lines = [(row, record) for row, record in enumerate(records) if record.is_waiting == (state == "open")]
        axes.hlines(
            [row for row, _ in lines],
            [days(record.recorded_at) for _, record in lines],
            [days(over_at(record) or last) for _, record in lines],
            colors=colour,
            linewidth=min(max(_LINE_POINTS / len(records), 1.0), _THICKEST_POINTS),
        )
        keys.append(Patch(color=colour, label=f"{state} ({len(lines):,})"))
    axes.xaxis_date()
    axes.set_xlim(days(first), days(last))
    axes.set_title(f"{records[0].consumer} on {records[0].stream}: what was processed when")
    axes.set_xlabel("time (UTC), from taken to done")
    ticks = sorted({round(number * (len(records) - 1) / _TICKS) for number in range(_TICKS + 1)})
    axes.set_yticks(ticks, [_name(records[tick]) for tick in ticks], fontsize="small")
    axes.set_ylabel("interval, in the order of the stream")
    axes.set_ylim(-1, len(records))
    figure.legend(handles=keys, loc="upper right")
    axes.grid(alpha=0.3)
    figure.autofmt_xdate()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def plotting() -> Any:
    """What draws PNG files: `matplotlib.pyplot`, without a window.

    Raises:
        ConfigurationError: it is not installed.
    """
    if find_spec("matplotlib") is None:
        raise ConfigurationError("drawing needs matplotlib: pip install 'aiopravega[plot]', or leave the file out")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def days(time: datetime) -> float:
    """A time as matplotlib counts it: in days since 1970."""
    return time.timestamp() / timedelta(days=1).total_seconds()


def span(records: Sequence[CutRecord], now: datetime | None) -> tuple[datetime, datetime]:
    """From when to when a picture of intervals goes: to `now`, by default this moment, if one of them waits."""
    ends = [over for record in records if (over := over_at(record)) is not None]
    if len(ends) < len(records):
        ends.append(now or datetime.now(UTC))
    first = min(record.recorded_at for record in records)
    return first, max(*ends, first + _MOMENT)


def over_at(record: CutRecord) -> datetime | None:
    """When an interval was done, or skipped."""
    return None if record.is_waiting else record.changed_at


def _name(record: CutRecord) -> str:
    """An interval's name, or its event times, as short as they can be said."""
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
