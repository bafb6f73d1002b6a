"""The source of the demo: a process of its own that knows nothing of the job, and replays flights on command.

It reads a controller's address from its input, then pairs of days in January, and prints a line for each day: the day,
and how many flights it had. It has read all flights by the time that the server is ready.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from queue import Queue
from typing import Self

ROOT = Path(__file__).parents[2]
_SECONDS = 600.0  # for a few thousand events, on any machine
_DAYS_A_LINE = 5
_END = "end"


class Source:
    """The running process, as a context; `say` gets a line about every few days."""

    def __init__(self, log: Path, say: Callable[[str], None]) -> None:
        self._say = say
        self._log = log
        self._counts: Queue[int | None] = Queue()  # flights of each order; None when the process has ended
        self._process = subprocess.Popen(
            [sys.executable, "-m", "example_dags.demo.replay"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("a"),
            text=True,
            bufsize=1,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def connect(self, uri: str) -> None:
        """Tell it where the controller is; before all else."""
        self._tell(uri)

    def replay(self, first: int, last: int) -> None:
        """Let it replay these days of January; returns at once."""
        self._tell(f"{first} {last}")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")

    def wait(self) -> int:
        """Wait for the oldest days that were not waited for yet; returns the number of flights.

        Raises:
            RuntimeError: the process has ended.
        """
        count = self._counts.get(timeout=_SECONDS)
        if count is None:
            raise RuntimeError(f"the replay has ended; see {self._log}")
        return count

    def _listen(self) -> None:
        assert self._process.stdout is not None
        days: list[tuple[int, int]] = []
        total = 0
        for line in self._process.stdout:
            ended = line.strip() == _END
            if not ended:
                day, flights = map(int, line.split())
                days.append((day, flights))
                total += flights
            if days and (ended or len(days) == _DAYS_A_LINE):
                flights = sum(flights for _, flights in days)
                self._say(f"      January {days[0][0]} to {days[-1][0]}: {flights:,} flights replayed")
                days.clear()
            if ended:
                self._counts.put(total)
                total = 0
        self._counts.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_SECONDS)


def main() -> None:
    """Make the stream, and replay days as they are asked for."""
    from example_dags import source

    from aiopravega import PravegaConfig, ScalingPolicy, StreamName
    from aiopravega.blocking import PravegaClient

    source.load()
    uri = sys.stdin.readline().strip()
    if not uri:
        return  # there is no server
    flights = StreamName("examples", "flights")
    with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
        client.create_scope(flights.scope)
        client.create_stream(
            flights,
            ScalingPolicy.fixed(4),
            tags=["flights"],
            timestamp_aggregation_timeout=source.PATIENCE,
        )
        for line in sys.stdin:
            first, last = (date(2013, 1, int(day)) for day in line.split())
            for each in source.replay(client, flights, first, last):
                print(each.day.day, each.flights, flush=True)
            print(_END, flush=True)


if __name__ == "__main__":
    main()
