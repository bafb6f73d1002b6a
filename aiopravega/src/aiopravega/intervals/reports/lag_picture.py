"""The lag of a reader group over time, as characters or as a PNG file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.picture import days, plotting

_BAR: Final = 50
_INCHES: Final = (11.0, 5.0)


@dataclass(frozen=True, slots=True)
class LagPoint:
    """The bytes that a group had not read at some time, and those after its last checkpoint."""

    time: datetime
    lag_bytes: int
    unread_bytes: int


def lag_line(point: LagPoint, greatest: int) -> str:
    """One line of the picture in characters: its bar is the lag, in parts of the greatest one."""
    bar = "█" * round(_BAR * point.lag_bytes / max(1, greatest))
    return f"{point.time:%H:%M:%S}  {point.lag_bytes:>15,}  {bar}"


def draw_lag_png(group: str, points: Sequence[LagPoint], path: Path) -> None:
    """The picture in a PNG file.

    Raises:
        ConfigurationError: there are no points, what draws them is not installed, or the file cannot be written.
    """
    if not points:
        raise ConfigurationError("there is no lag to draw")
    plt = plotting()
    figure, axes = plt.subplots(figsize=_INCHES)
    times = [days(point.time) for point in points]
    axes.plot(times, [point.lag_bytes for point in points], color="tab:orange", label="lag: after what was read")
    axes.plot(
        times, [point.unread_bytes for point in points], color="tab:blue", linestyle="--",
        label="unread: after the last checkpoint",
    )  # fmt: skip
    axes.xaxis_date()
    axes.set_ylim(bottom=0)
    axes.set_title(f"{group}: bytes that are left to read")
    axes.set_xlabel("time (UTC)")
    axes.set_ylabel("bytes")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.autofmt_xdate()
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot write the picture {path}: {error}") from error
    finally:
        plt.close(figure)
