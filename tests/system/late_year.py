"""A year of hours with late events: a host makes every partition right by itself. `make late-year ARGS='--hours 48'`.

Each hour has an event of each device. Hours are written, some at a time, and the writer notes its times. Devices are
away for some hours, one event in a hundred, and their events of these hours come when the hours were read, with later
ones. Real processes of Dagster or Airflow read each hour when it is complete,
and again when late events of it were found: by a sensor or a DAG, without a hand. In the end the newest generation of
each partition is compared with the source, event by event. Prints what it has counted; its status is 1 if a partition
is wrong, or ran again without a late event.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pyarrow import parquet
from tests.faults.process import wait_until
from tests.system.airflow.components import Components as Airflow
from tests.system.airflow.postgres import Postgres
from tests.system.dagster.components import Components as Dagster
from tests.system.servers import free_ports

from aiopravega import PravegaConfig, ScalingPolicy
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.intervals import interval_name
from aiopravega.ledger import CutRecord
from pravega_emulator import PravegaEmulator
from pravega_jobs.landing import holdings

SCOPE: Final = "late-year"
TIMED: Final = f"{SCOPE}/timed"
START: Final = datetime(2025, 1, 1, tzinfo=UTC)
HOURS: Final = "LATE_YEAR_HOURS"  # the variable that has their number
FOLDER: Final = "LATE_YEAR_FOLDER"  # the variable that has the folder of the files that Dagster's runs make
_HERE: Final = Path(__file__).parent
_HOUR: Final = timedelta(hours=1)
_STEP_SECONDS: Final = 3600.0
# After the last partition is right, a host may still run one again that it should leave alone.
_CALM_SECONDS: Final = 45.0
_CONCURRENCY: Final = "concurrency:\n  runs:\n    max_concurrent_runs: {}\n"


def at(hour: int) -> datetime:
    """The time at which an hour begins."""
    return START + hour * _HOUR


@dataclass(slots=True)
class Source:
    """The events: of each hour those in time, and those that come late.

    Args:
        hours: their number.
        events: of each hour, one of each device.
        late: one event in so many is late.
        away: the hours that a device is away.
        chance: the random numbers.
    """

    hours: int
    events: int
    late: int
    away: int
    chance: random.Random
    in_time: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    held: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        total, late = self.hours * self.events, set[int]()
        while len(late) < total // self.late:
            first = self.chance.randrange(total)
            late.update(range(first, min(first + self.away * self.events, total), self.events))
        for number in range(total):
            hour = number // self.events
            time_of = at(hour) + _HOUR * self.chance.random()
            event = json.dumps({"id": number, "at": int(time_of.timestamp() * 1000)}).encode()
            (self.held if number in late else self.in_time)[hour].append(event)

    def of(self, hour: int) -> Counter[int]:
        """The ids of all events of an hour."""
        return Counter(json.loads(event)["id"] for event in (*self.in_time[hour], *self.held[hour]))


class Host(ABC):
    """What a host has made of the hours."""

    @abstractmethod
    def state(self, hours: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        """Of each hour that was read the newest generation and its number of events."""

    @abstractmethod
    def contents(self, hours: int) -> Iterator[Counter[int]]:
        """The ids of the events in the newest generation of each hour, the first one first."""


@dataclass(frozen=True, slots=True)
class OfDagster(Host):
    """Partitions that are files, of which the cut ledger says how often they were claimed."""

    client: PravegaClient
    folder: Path

    def state(self, hours: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        """By the files, and by the records of the intervals, if all of them are done."""
        wanted = {interval_name(at(hour), at(hour + 1)): hour for hour in hours}
        claims, open_hours = Counter[int](), set[int]()
        for record in self._records():
            hour = wanted.get(record.interval)
            if hour is not None:
                claims[hour] += 1
                open_hours |= set() if record.is_done else {hour}
        return {
            hour: (number, parquet.read_metadata(self._file(hour)).num_rows)
            for hour, number in claims.items()
            if hour not in open_hours
        }

    def contents(self, hours: int) -> Iterator[Counter[int]]:
        """By the rows of the files."""
        return (Counter(parquet.read_table(self._file(hour))["id"].to_pylist()) for hour in range(hours))

    def _file(self, hour: int) -> Path:
        return self.folder / f"{at(hour):%Y-%m-%d-%H:%M}.parquet"

    def _records(self) -> list[CutRecord]:
        try:
            # Later claims are of consumers of their own.
            return [record for found in self.client.cut_ledger(SCOPE).consumers().values() for record in found]
        except TableNotFoundError:
            return []


@dataclass(frozen=True, slots=True)
class OfAirflow(Host):
    """Intervals that are landed in a table."""

    folder: Path

    def state(self, hours: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        """By the notes of the table."""
        held = {each.interval: each for each in holdings(f"parquet:{self.folder}")} if self.folder.exists() else {}
        names = {hour: interval_name(at(hour), at(hour + 1)) for hour in hours}
        return {hour: (held[name].generation, held[name].rows) for hour, name in names.items() if name in held}

    def contents(self, hours: int) -> Iterator[Counter[int]]:
        """By the times of the rows."""
        found: dict[int, Counter[int]] = defaultdict(Counter)
        for row in parquet.read_table(self.folder, columns=["id", "at"]).to_pylist():
            found[int((row["at"] / 1000 - START.timestamp()) // _HOUR.total_seconds())][row["id"]] += 1
        return (found[hour] for hour in range(hours))


class Year:
    """The stream, and how it is written."""

    def __init__(self, client: PravegaClient, source: Source) -> None:
        self.client, self.source = client, source
        client.create_scope(SCOPE)
        client.create_stream(TIMED, ScalingPolicy.fixed(2), timestamp_aggregation_timeout=timedelta(days=1))
        self._note(0)
        next(iter(client.watermarks(TIMED, follow=True)))

    def _note(self, hour: int) -> None:
        self.client.note_time(TIMED, "writer", int(at(hour).timestamp() * 1000))

    def write(self, first: int, last: int, late: Sequence[int]) -> None:
        """Write hours, and the late events of hours that were read."""
        events = [event for hour in range(first, last) for event in self.source.in_time[hour]]
        events += [event for hour in late for event in self.source.held[hour]]
        with self.client.writer(TIMED) as writer:
            writer.write_many(events, [str(number) for number in range(len(events))])
        self._note(last)


def wait_for(host: Host, hours: Iterable[int], wanted: Callable[[int, int], bool]) -> None:
    """Wait until generation and events of each of these hours are as wanted; one that is so stays so."""
    left = set(hours)

    def is_done() -> bool:
        left.difference_update([hour for hour, found in host.state(left).items() if wanted(*found)])
        return not left

    wait_until(is_done, lambda: f"these hours are not read, or not right: {sorted(left)}", _STEP_SECONDS, every=5)


def run(year: Year, host: Host, step: int) -> dict[str, object]:
    """Write the year while the host follows; returns what was counted."""
    began, source = time.monotonic(), year.source
    read: list[int] = []
    for first in range(0, source.hours, step):
        now = list(range(first, min(first + step, source.hours)))
        year.write(first, now[-1] + 1, read)
        read = now
        wait_for(host, now, lambda generation, _: generation > 0)
        print(f"{now[-1] + 1} hours are read after {time.monotonic() - began:.0f} s", flush=True)
    year.write(source.hours, source.hours, read)
    wait_for(host, range(source.hours), lambda _, events: events == source.events)
    seconds = round(time.monotonic() - began)
    time.sleep(_CALM_SECONDS)
    state = host.state(range(source.hours))
    found = zip(range(source.hours), host.contents(source.hours), strict=True)
    return {
        "hours": source.hours,
        "events": source.hours * source.events,
        "late_events": sum(map(len, source.held.values())),
        "hours_with_late_events": sum(bool(events) for events in source.held.values()),
        "hours_read_again": sum(generation > 1 for generation, _ in state.values()),
        "runs_again": sum(generation - 1 for generation, _ in state.values()),
        "again_without_late_events": [
            h for h, (generation, _) in state.items() if generation > 1 and not source.held[h]
        ],
        "wrong": [hour for hour, events in found if events != source.of(hour)],
        "seconds": seconds,
    }


@contextmanager
def dagster(given: argparse.Namespace, server: PravegaEmulator, client: PravegaClient, home: Path) -> Iterator[Host]:
    """Dagster's processes."""
    locations = {"late_hours": _HERE / "dagster" / "late_hours.py"}
    folder = home / "hours"
    folder.mkdir()
    environment = {"PRAVEGA_CONTROLLER_URI": server.controller_uri, HOURS: str(given.hours), FOLDER: str(folder)}
    with Dagster(home, locations, environment, concurrency=_CONCURRENCY.format(given.at_once)):
        yield OfDagster(client, folder)


@contextmanager
def airflow(given: argparse.Namespace, server: PravegaEmulator, client: PravegaClient, home: Path) -> Iterator[Host]:
    """Airflow's processes, on PostgreSQL."""
    del client
    uri = urlsplit(server.controller_uri)
    connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
    with Postgres(free_ports(1)[0], home / "postgres.log") as database:
        components = Airflow(home, database, _HERE / "airflow" / "hours", {"pravega_default": connection})
        components.environment |= {HOURS: str(given.hours), "AIRFLOW__CORE__PARALLELISM": str(2 * given.at_once)}
        with components:
            yield OfAirflow(home / "late_hours")


def main() -> None:
    """Run, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", choices=["dagster", "airflow"], default="dagster")
    parser.add_argument("--hours", type=int, default=8760)
    parser.add_argument("--events", type=int, default=20, help="of each hour")
    parser.add_argument("--late", type=int, default=100, help="one event in so many is late")
    parser.add_argument("--away", type=int, default=24, help="hours that a device is away, whose events are late")
    parser.add_argument("--step", type=int, default=336, help="hours that are written at a time")
    parser.add_argument("--at-once", type=int, default=2, help="runs side by side")
    parser.add_argument("--seed", type=int, default=49)
    given = parser.parse_args()
    source = Source(given.hours, given.events, given.late, given.away, random.Random(given.seed))
    home = Path(tempfile.mkdtemp(prefix="late-year-"))
    print(f"{given.host}, seed {given.seed}; the logs are in {home}", flush=True)
    start = dagster if given.host == "dagster" else airflow
    with PravegaEmulator() as server, PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client:
        year = Year(client, source)
        with start(given, server, client, home) as host:
            found = run(year, host, given.step)
    print(json.dumps(found, indent=2))
    sys.exit(1 if found["wrong"] or found["again_without_late_events"] else 0)


if __name__ == "__main__":
    main()
