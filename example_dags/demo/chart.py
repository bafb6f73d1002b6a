"""The picture at the end: mean delay per carrier and day."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Carriers with fewer flights are many, and their means jump.
_SHOWN = 8
_MONTH = "2013-01-"


def draw_delays(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the events of the stream of delays; days that several ranges share are added up."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    flights: dict[str, int] = defaultdict(int)
    departed: dict[tuple[str, int], int] = defaultdict(int)
    minutes: dict[tuple[str, int], float] = defaultdict(float)
    for row in rows:
        if not row["day"].startswith(_MONTH):
            continue  # the last evening's flights that left after midnight
        key = (row["carrier"], int(row["day"][len(_MONTH) :]))
        flights[row["carrier"]] += row["flights"]
        departed[key] += row["departed"]
        minutes[key] += row["delay_minutes"]
    days = sorted({day for _, day in departed})
    figure, axes = plt.subplots(figsize=(11, 5))
    for carrier in sorted(flights, key=lambda name: -flights[name])[:_SHOWN]:
        means = [
            minutes[carrier, day] / departed[carrier, day] if departed[carrier, day] else float("nan") for day in days
        ]
        axes.plot(days, means, marker=".", label=carrier)
    axes.set_title("Departures from New York, January 2013: mean delay per carrier and day")
    axes.set_xlabel("day of January")
    axes.set_ylabel("minutes")
    axes.set_xticks(days)
    axes.legend(ncols=_SHOWN, fontsize="small")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
