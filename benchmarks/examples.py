"""The job of the examples in both forms, without Spark and with it: seconds and CPU of one run.

    python -m benchmarks.examples

A run is a command that a user could type, `airflow dags test` or `dagster asset materialize`, on an example as it is in
`example_dags`. It is counted from the start of that process to its end, with all processes that it starts: JVMs, Python
workers, and those of Dagster's steps. The forms take turns, and read the same range; each run writes to a stream of its
own, where its delays are counted. The server is on the same cores, and is not counted.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from example_dags.demo import airflow_runs

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.events import ROWS, flights
from benchmarks.writers import write_repeatedly
from pravega_emulator import PravegaEmulator

_ROOT: Final = Path(__file__).parents[1]
_EXAMPLES: Final = _ROOT / "example_dags"
_SCOPE: Final = "forms"
_DAY: Final = "2013-01-02"
# Flights of a range: 2 MB, and 205 MB.
_FLIGHTS: Final = (10_000, 1_000_000)
_SECONDS: Final = len("2013-01-01T05:00:00")
_SAID: Final = re.compile(r"([\d.]+) s of CPU, ([\d.]+) s in all")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run."""

    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class _Job:
    """A range of flights, the stream for their delays, and a folder for the files of the run."""

    range: StreamCutRange
    flights: StreamName
    delays: StreamName
    folder: Path


def _airflow(name: str, job: _Job) -> list[str]:
    """The sensor finds the range by the logical date, which is the same in all runs."""
    conf = json.dumps({"flights": str(job.flights), "delays": str(job.delays)})
    file = str(_EXAMPLES / "airflow" / f"{name}.py")
    return ["airflow", "dags", "test", name, _DAY, "--conf", conf, "--dagfile-path", file]


def _dagster(name: str, job: _Job) -> list[str]:
    delays = f"{job.delays.scope}__{job.delays.stream}"
    reads = "flights_files" if name == "flights_delays" else delays
    config: dict[str, object] = {"ops": {reads: {"inputs": {"flights": job.range.to_json()}}}}
    if name == "flights_delays":
        config["resources"] = {"folder": {"config": {"path": str(job.folder)}}}
    file = str(_EXAMPLES / "dagster" / f"{name}.py")
    return ["dagster", "asset", "materialize", "--select", "*", "-f", file, "--config-json", json.dumps(config)]


_FORMS: Final[dict[str, Callable[[_Job], list[str]]]] = {
    "Airflow, `flights_polars`": lambda job: _airflow("flights_polars", job),
    "Airflow, `flights_taskflow` (Spark)": lambda job: _airflow("flights_taskflow", job),
    "Dagster, `flights_polars`": lambda job: _dagster("flights_polars", job),
    "Dagster, `flights_delays` (Spark)": lambda job: _dagster("flights_delays", job),
}


def _run(client: PravegaClient, command: list[str], job: _Job, events: int) -> Cost:
    """Run a form once, and count what it has written."""
    client.create_stream(job.delays, ScalingPolicy.fixed(1))
    environment = os.environ | {"FLIGHTS_STREAM": str(job.flights), "DELAYS_STREAM": str(job.delays)}
    measured = [sys.executable, str(_ROOT / "tools" / "cpu_seconds.py"), "--", sys.executable, "-m", *command]
    done = subprocess.run(measured, env=environment, capture_output=True, text=True, check=False)
    said = _SAID.search(done.stdout.splitlines()[-1] if done.stdout else "")
    if done.returncode or said is None:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    delays = [json.loads(event.data) for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), job.delays)]
    found = sum(row["flights"] for row in delays if row.get("day"))
    if found != events:
        raise RuntimeError(f"the delays are of {found:,} flights, and must be of {events:,}: {' '.join(command)}")
    return Cost(seconds=float(said[2]), cpu=float(said[1]))


def _table(title: str, costs: dict[str, list[Cost]]) -> str:
    lines = [f"### {title}", "", "| form | s (median) | lowest to highest | CPU, s (median) |", "|---|---:|---:|---:|"]
    for form, found in costs.items():
        seconds = [cost.seconds for cost in found]
        lines.append(
            f"| {form} | {median(seconds):.1f} | {min(seconds):.1f} to {max(seconds):.1f} "
            f"| {median(cost.cpu for cost in found):.1f} |"
        )
    return "\n".join(lines)


def _measure(server: PravegaEmulator, events: int, rounds: int, folder: Path) -> str:
    # New York's clocks, without a zone, as the examples expect it.
    texts = [json.dumps(row | {"departure": row["departure"][:_SECONDS]}).encode() for row in flights()]
    stream = StreamName(_SCOPE, f"flights{events}")
    costs: dict[str, list[Cost]] = {form: [] for form in _FORMS}
    with PravegaClient(server.config) as client:
        client.create_scope(_SCOPE)
        client.create_stream(stream, ScalingPolicy.fixed(4))
        write_repeatedly(server.config, stream, texts, events // ROWS)
        whole = StreamCutRange(client.head(stream), client.tail(stream))
        for number in range(rounds):
            forms = list(_FORMS)[:: -1 if number % 2 else 1]
            for turn, form in enumerate(forms):
                delays = StreamName(_SCOPE, f"delays{events}r{number}t{turn}")
                job = _Job(whole, stream, delays, folder / delays.stream)
                cost = _run(client, _FORMS[form](job), job, events)
                print(f"{events:,} flights, round {number}: {form}: {cost}", flush=True)
                costs[form].append(cost)
    size = sum(map(len, texts)) / ROWS * events
    return _table(f"One run of the example, {events:,} flights, {size / 1e6:,.0f} MB of JSON", costs)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flights", type=int, action="append", help=f"of a range, a multiple of {ROWS:,}")
    given = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    with tempfile.TemporaryDirectory() as name, PravegaEmulator(full_jit=True) as server:
        folder = Path(name)
        (folder / "airflow").mkdir()
        (folder / "dagster").mkdir()
        airflow_runs.prepare(folder / "airflow")
        airflow_runs.connect(server.controller_uri)
        os.environ |= {
            "DAGSTER_HOME": str(folder / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "PRAVEGA_CONTROLLER_URI": server.controller_uri,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(_ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
        }
        for events in given.flights or _FLIGHTS:
            print(f"\n{_measure(server, events, given.rounds, folder)}\n", flush=True)
    print(f"load of the machine after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
