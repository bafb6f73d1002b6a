"""The main job from end to end, on a real Pravega that is started for it.

Flights are replayed into a stream; an Airflow DAG waits for it to move, reads exactly that range with Spark, and
writes the delays per carrier and day exactly once; the run is repeated, a range is read again, and Dagster reads it
too. A gate lets one new schema of the delays pass, and refuses another. At the end everything is counted with a plain
client.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from example_dags import small_spark
from example_dags.demo import airflow_runs
from example_dags.demo.chart import draw_delays
from example_dags.demo.page import Read, write_page
from example_dags.demo.progress import Steps
from example_dags.demo.replay import Source

from aiopravega import UNBOUNDED, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "build" / "demo"
SCHEMAS = ROOT / "example_dags" / "schemas"
FLIGHTS, DELAYS = StreamName("examples", "flights"), StreamName("examples", "delays")
FIRST_RUN, SECOND_RUN = datetime(2013, 1, 20, tzinfo=UTC), datetime(2013, 1, 31, tzinfo=UTC)
# The first run starts while the first days are replayed; the second one takes what arrived since.
FIRST_DAYS, LAST_DAYS = (1, 20), (21, 31)
SOME_BYTES = 500_000
_LINE = 70  # characters of a value that is shown
CODE = {
    "the DAGs that wait, read and write": "example_dags/airflow/flights_delays.py",
    "the DAG with the gate": "example_dags/airflow/delays_schema.py",
    "the assets": "example_dags/dagster/flights_delays.py",
    "the demo": "example_dags/demo/__main__.py",
}


class Demo:
    """The steps, in their order; each leaves what the next ones need."""

    def __init__(self, steps: Steps, client: PravegaClient, example: ModuleType, source: Source) -> None:
        self._steps = steps
        self._source = source
        self._client = client
        self._example = example
        self._runs: dict[datetime, dict[str, Any]] = {}
        self._replayed = 0
        self._reads: list[Read] = []
        self._verdicts: list[dict[str, Any]] = []

    def job(self, date: datetime, min_bytes: int) -> dict[str, Any]:
        """One run of the DAG `flights_delays`; the same date is the same run."""
        return airflow_runs.run(self._example.flights_delays, date, output=str(OUTPUT / "airflow"), min_bytes=min_bytes)

    def _ends(self) -> tuple[StreamCut, StreamCut]:
        """Head and tail of the flights."""
        return self._client.head(FLIGHTS), self._client.tail(FLIGHTS)

    def _note(self, by: str, range_: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Keep for the page what was read."""
        head, _ = self._ends()
        start, end = (self._client.distance(head, StreamCut.from_text(range_[each])) for each in ("start", "end"))
        self._reads.append(Read(by, start, end, result["events"], result["digest"]))

    def first_run(self) -> None:
        """Steps 1 to 5 of the job, while flights are still coming in."""
        with self._steps.step(
            "Airflow: flights_delays waits (deferred) while January is replayed, reads, writes"
        ) as say:
            run = self._runs[FIRST_RUN] = self.job(FIRST_RUN, SOME_BYTES)
            flights = self._source.wait()
            self._replayed += flights
            say.append(f"{flights:,} flights of January {FIRST_DAYS[0]} to {FIRST_DAYS[1]} replayed in the meantime")
            say.append(_read_line(run["read"]))
            say.append(_write_line(run["write"]))
            self._note("Airflow, the first run", run["wait"], run["read"])

    def second_run(self) -> None:
        """The next interval starts where the first one ended."""
        with self._steps.step("Airflow: the next run takes the rest of January") as say:
            self._source.replay(*LAST_DAYS)
            self._replayed += self._source.wait()
            run = self._runs[SECOND_RUN] = self.job(SECOND_RUN, 1)
            say.append(_read_line(run["read"]))
            say.append(_write_line(run["write"]))
            self._note("Airflow, the next run", run["wait"], run["read"])
            if run["wait"]["start"] != self._runs[FIRST_RUN]["wait"]["end"]:
                raise RuntimeError("the second interval does not start where the first one ended")

    def retry(self) -> None:
        """The same interval again: the same cuts, the same rows, nothing doubled."""
        with self._steps.step("Airflow: the first run again, as a retry") as say:
            before = self._client.tail(DELAYS)
            first, again = self._runs[FIRST_RUN], self.job(FIRST_RUN, SOME_BYTES)
            if again["wait"] != first["wait"] or again["read"]["digest"] != first["read"]["digest"]:
                raise RuntimeError("the retry has read another range")
            self._note("Airflow, the first run again", again["wait"], again["read"])
            grown = self._client.distance(before, self._client.tail(DELAYS))
            say.append(f"the same cuts; the same rows (SHA-256 {first['read']['digest'][:16]}…)")
            say.append(f"written again: {again['write']['written']}; the stream has grown by {grown} bytes")

    def backfill(self) -> None:
        """A past range by its two cuts."""
        with self._steps.step("Airflow: flights_backfill reads the first range again, by its cuts") as say:
            first = self._runs[FIRST_RUN]
            result = airflow_runs.run(
                self._example.flights_backfill,
                datetime(2013, 2, 1, tzinfo=UTC),
                output=str(OUTPUT / "airflow"),
                **first["wait"],
            )["read"]
            if result["digest"] != first["read"]["digest"]:
                raise RuntimeError("the backfill gave other rows")
            self._note("Airflow, a backfill by two cuts", first["wait"], result)
            say.append(f"{result['events']:,} events; the same rows (SHA-256 {result['digest'][:16]}…)")

    def dagster(self) -> None:
        """The same range as a Dagster asset."""
        with self._steps.step("Dagster: the same range is materialized as an asset") as say:
            import dagster as dg
            from example_dags.dagster import flights_delays as assets
            from pyspark.sql import SparkSession

            from pravega_jobs.spark.file_digest import digest_of_files

            first = self._runs[FIRST_RUN]
            folder = str(OUTPUT / "dagster")
            result = dg.materialize(
                [assets.flights_stream, assets.flights_files],
                resources=dict(assets.defs.resources or {}),
                run_config=assets.run_config(first["wait"], folder),
            )
            (materialization,) = result.asset_materializations_for_node("flights_files")
            metadata = {name: entry.value for name, entry in materialization.metadata.items()}
            spark = SparkSession.active()
            digest = digest_of_files(spark, str(metadata["path"]))
            if digest != first["read"]["digest"]:
                raise RuntimeError("Dagster has read other rows")
            events = spark.read.parquet(str(metadata["path"])).count()
            self._note("Dagster, an asset", first["wait"], {"events": events, "digest": digest})
            say.extend(f"{name}: {_short(value)}" for name, value in metadata.items())
            say.append(f"the same rows (SHA-256 {first['read']['digest'][:16]}…)")

    def gate(self) -> None:
        """One schema for the delays that may follow, and one that may not."""
        with self._steps.step("Airflow: delays_schema lets a schema through its gate, and refuses another") as say:
            dag = airflow_runs.example("delays_schema").delays_schema
            good = airflow_runs.run(dag, FIRST_RUN, schema=str(SCHEMAS / "delays-longest.json"))
            say.append(good["gate"]["summary"])
            bad = airflow_runs.run(
                dag, SECOND_RUN, schema=str(SCHEMAS / "delays-means.json"), to_fail=frozenset({"gate", "use"})
            )
            say.append(bad["gate"]["summary"])
            self._verdicts += [good["gate"], bad["gate"]]
            say.extend(
                f"version {each['version']}, {each['path']}: {each['rule']}; {each['remedy']}"
                for each in bad["gate"]["violations"]
            )
            if bad["use"] is not None or good["use"] is None:
                raise RuntimeError("the gate did not keep back what follows, or kept back too much")

    def count(self) -> None:
        """Read both streams with a plain client, and compare."""
        everything = StreamCutRange(UNBOUNDED, UNBOUNDED)
        flights = [event.data for event in self._client.read(everything, FLIGHTS)]
        delays = [json.loads(event.data) for event in self._client.read(everything, DELAYS)]
        read = sum(run["read"]["events"] for run in self._runs.values())
        written = sum(run["write"]["events"] for run in self._runs.values())
        duplicates = len(delays) - written
        draw_delays(delays, OUTPUT / "delays.png")
        numbers = {
            "flights replayed (rows in)": f"{self._replayed:,}",
            f"events in {FLIGHTS}": f"{len(flights):,}",
            "events read, both intervals": f"{read:,}",
            "events written by the job": f"{written:,}",
            f"events in {DELAYS}": f"{len(delays):,}",
            "flights in them": f"{sum(row['flights'] for row in delays):,}",
            "duplicates": f"{duplicates}",
        }
        page = write_page(
            OUTPUT,
            stream=str(FLIGHTS),
            length=self._client.distance(*self._ends()),
            reads=self._reads,
            verdicts=self._verdicts,
            numbers=numbers,
            steps=self._steps.done,
            code=CODE,
        )
        files = {"chart": OUTPUT / "delays.png", "all of this as a page": page, "files": OUTPUT}
        self._steps.table(
            "What went through", numbers | {name: str(path.relative_to(ROOT)) for name, path in files.items()}
        )
        self._steps.table("Time", {step.what: f"{step.seconds:.1f} s" for step in self._steps.done})
        counted = sum(row["flights"] for row in delays)
        if duplicates or not self._replayed == len(flights) == read == counted:
            raise RuntimeError("the numbers do not agree: something was lost or doubled")


def _read_line(result: Mapping[str, Any]) -> str:
    return f"{result['events']:,} events ({result['bytes']:,} bytes) read into Parquet in {result['seconds']:.1f} s"


def _write_line(result: Mapping[str, Any]) -> str:
    return f"{result['events']:,} events written to {result['stream']} exactly once"


def _short(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int | float) else str(value)
    return text if len(text) <= _LINE else f"{text[:_LINE]}…"


def _spark() -> None:
    """One Spark for all steps: the operators and the assets use the session of their process."""
    from pyspark.sql import SparkSession

    SparkSession.builder.master("local[2]").appName("demo").getOrCreate()


def main() -> None:
    """Run all steps; ends with an error if a number is not what it must be."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    sys.path.insert(0, str(airflow_runs.DAGS))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    small_spark.use()
    steps = Steps(OUTPUT / "demo.log")
    steps.console.print(f"The log of all that runs is in {steps.log.relative_to(ROOT)}")
    try:
        with ExitStack() as stack:
            _run(steps, stack)
    except Exception as error:
        steps.console.print(f"[red]The demo failed:[/red] {error!s} (more in {steps.log.relative_to(ROOT)})")
        raise


def _replay(steps: Steps, stack: ExitStack) -> tuple[PravegaEmulator, Source]:
    """Start the servers and the source, which begins as soon as they are there."""
    source = Source(steps.log, steps.console.print)
    server = stack.enter_context(PravegaEmulator(schema_registry=True))
    steps.console.print(f"      controller at {server.controller_uri}")
    steps.console.print(f"      Schema Registry at {server.schema_registry_uri}")
    stack.enter_context(source)  # ends before the server
    source.connect(server.controller_uri)
    source.replay(*FIRST_DAYS)
    return server, source


def _run(steps: Steps, stack: ExitStack) -> None:
    with steps.step("Pravega 0.13.0, its Schema Registry, Airflow and Spark start, and flights begin to come"):
        home = OUTPUT / "airflow-home"
        home.mkdir()
        with ThreadPoolExecutor() as pool:
            replaying = pool.submit(_replay, steps, stack)
            _spark()  # in this thread, for which it is the active session then
            airflow_runs.prepare(home)
            server, source = replaying.result()
        os.environ["PRAVEGA_CONTROLLER_URI"] = server.controller_uri
        airflow_runs.connect(server.controller_uri, server.schema_registry_uri)
        example = airflow_runs.example()
    demo = Demo(steps, stack.enter_context(PravegaClient(server.config)), example, source)
    demo.first_run()
    demo.second_run()
    demo.retry()
    demo.backfill()
    demo.dagster()
    demo.gate()
    demo.count()


if __name__ == "__main__":
    main()
