"""Results of runs, and tables of rounds."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a run: `events` events of `size` bytes each."""

    name: str
    events: int
    size: int

    def pieces(self, largest: int) -> list["Load"]:
        """The same in loads of at most about `largest` bytes."""
        step = max(1, largest // self.size)
        starts = range(0, self.events, step)
        return [Load(self.name, min(step, self.events - start), self.size) for start in starts]


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: events, payload bytes (without headers), seconds."""

    events: int
    bytes: int
    seconds: float

    @property
    def megabytes_per_second(self) -> float:
        """Payload in 10^6 bytes per second."""
        return self.bytes / _MEGABYTE / self.seconds


class Stopwatch:
    """Seconds of a `with` block."""

    seconds = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure a block by the wall clock."""
    watch = Stopwatch()
    start = time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - start


def summary(rounds: Sequence[Mapping[str, Measured]], reference: str) -> list[dict[str, Any]]:
    """One row a contender: median, lowest and highest MB/s, median events/s, median ratio to `reference` by round."""
    rows = []
    for name in rounds[0]:
        speeds = [run[name].megabytes_per_second for run in rounds]
        rows.append(
            {
                "contender": name,
                "mb_per_s": round(statistics.median(speeds), 1),
                "lowest": round(min(speeds), 1),
                "highest": round(max(speeds), 1),
                "events_per_s": round(statistics.median(run[name].events / run[name].seconds for run in rounds)),
                "ratio": round(
                    statistics.median(
                        run[name].megabytes_per_second / run[reference].megabytes_per_second for run in rounds
                    ),
                    2,
                ),
            }
        )
    return rows


def table(title: str, rows: Sequence[Mapping[str, Any]], reference: str) -> str:
    """The rows as a Markdown table."""
    lines = [
        f"### {title}",
        "",
        f"| contender | MB/s (median) | lowest to highest | events/s | times {reference} |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['contender']} | {row['mb_per_s']:,.0f} | {row['lowest']:,.0f} to {row['highest']:,.0f} | "
        f"{row['events_per_s']:,} | {row['ratio']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)
