"""A year of flights, written with its event times, then taken month by month four ways, which have to agree.

    python -m example_dags.year

On a real Pravega that is started for it, 336,776 flights are replayed. Each month of them is read by a plain Spark job
that `pravega backfill` starts, four at a time; by runs of a Dagster asset with a partition for each month, side by
side as those of a backfill; by mapped tasks of Airflow; and by Airflow's sensor and read for a single month. At the
end the digests of all files are compared, and the cut ledger is drawn.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from example_dags import small_spark, source
from example_dags.demo import airflow_runs
from example_dags.demo.progress import Steps
from example_dags.flights import AHEAD

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main as pravega
from pravega_emulator import PravegaEmulator

ROOT: Final = Path(__file__).parents[2]
OUTPUT: Final = ROOT / "build" / "year"
FLIGHTS: Final = StreamName("examples", "flights")
YEAR: Final = [datetime(2013, month, 1, tzinfo=UTC) for month in range(1, 13)]
PARALLEL: Final = 4
CONSUMER: Final = "flights-2013"
# Watermarks are made every 10 s by default: a year that passes in a minute needs them sooner.
OFTEN: Final = {"controller.watermarking.frequency.seconds": "2"}
_MARK_SECONDS: Final = 60


class Year:
    """The steps, in their order; `digests` has what each way made of each month."""

    def __init__(self, steps: Steps, client: PravegaClient) -> None:
        self._steps = steps
        self._client = client
        self.flights = 0
        self.digests: dict[str, dict[str, str]] = {}

    def replay(self) -> None:
        """The year passes: day by day, and each month waits for its watermark."""
        with self._steps.step("The flights of 2013 are replayed, their times noted") as say:
            self._client.create_scope(FLIGHTS.scope)
            self._client.create_stream(
                FLIGHTS,
                ScalingPolicy.fixed(4),
                timestamp_aggregation_timeout=source.PATIENCE,
            )
            for day in source.replay(self._client, FLIGHTS, date(2013, 1, 1), date(2013, 12, 31)):
                self.flights += day.flights
                # The first one too: an interval that ends before the first mark is never known to be complete.
                if day.day.day == 1 or (day.day + timedelta(days=1)).day == 1:
                    self._await_mark(day.noted)
            marks = list(self._client.watermarks(FLIGHTS))
            say.append(f"{self.flights:,} flights, {len(marks)} watermarks")

    def _await_mark(self, noted: datetime) -> None:
        deadline = time.monotonic() + _MARK_SECONDS
        while not any(self._client.watermarks(FLIGHTS, since=noted)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no watermark arrived for {noted}")
            time.sleep(0.1)

    def plain_spark(self) -> None:
        """A Spark job for each month, started by `pravega backfill`."""
        with self._steps.step(f"pravega backfill: twelve Spark jobs, {PARALLEL} at a time") as say:
            hours = f"{AHEAD // timedelta(hours=1)}h"
            job = [sys.executable, str(ROOT / "example_dags" / "spark" / "flights_month.py")]
            times = ["--from", "2013-01-01", "--to", "2014-01-01", "--every", "1mo", "--ahead", hours]
            given = ["{stream}", "{since}", "{until}", f"{OUTPUT}/spark/{{since}}", "{start}", "{end}"]
            options = ["--consumer", CONSUMER, *times, "--parallel", str(PARALLEL)]
            code = pravega(["backfill", "run", str(FLIGHTS), *options, "--", *job, *given])
            if code:
                raise RuntimeError(f"the backfill ended with {code}")
            self._compare("plain Spark", {f"{month:%Y-%m}": f"{OUTPUT}/spark/{month.isoformat()}" for month in YEAR})
            if pravega(["cuts", "verify", str(FLIGHTS), "--consumer", CONSUMER]):
                raise RuntimeError("the cut ledger has gaps")
            pravega(["cuts", "plot", str(FLIGHTS), "--consumer", CONSUMER])
            say.append("the cut ledger has neither gap nor overlap; its picture is in the log")

    def dagster(self) -> None:
        """The runs of a backfill, side by side."""
        with self._steps.step(f"Dagster: twelve partitions, {PARALLEL} at a time") as say:
            import dagster as dg

            os.environ["FLIGHTS_FOLDER"] = f"{OUTPUT}/dagster"
            from example_dags.dagster import flights_months as months

            home = OUTPUT / "dagster-home"
            home.mkdir()
            with dg.DagsterInstance.local_temp(str(home)) as instance, ThreadPoolExecutor(PARALLEL) as pool:

                def run(partition: str) -> int:
                    result = dg.materialize(
                        [months.flights_stream, months.flights_of_month],
                        selection=[months.flights_of_month],
                        resources=dict(months.defs.resources or {}),
                        partition_key=partition,
                        instance=instance,
                    )
                    [found] = result.asset_materializations_for_node("flights_of_month")
                    return int(found.metadata["pravega/events"].value or 0)  # type: ignore[arg-type]  # it is a number

                keys = months.MONTHS.get_partition_keys()
                flights = sum(pool.map(run, keys))
            say.append(f"{flights:,} flights in {len(keys)} partitions")
            if flights != self.flights - self._after():
                raise RuntimeError("flights were lost or doubled")
            self._compare("Dagster", {key[:7]: f"{OUTPUT}/dagster/{key}" for key in keys})

    def airflow(self, example: Any) -> None:
        """A planned backfill with mapped reads, and one run of the sensor."""
        with self._steps.step("Airflow: a plan, and a mapped read for each month") as say:
            folder = f"{OUTPUT}/airflow-year"
            run = airflow_runs.run(example.flights_year, datetime(2014, 1, 2, tzinfo=UTC), output=folder)
            say.append(f"{len(run['plan'])} months")
            self._compare("Airflow", {f"{month:%Y-%m}": f"{folder}/{month:%Y-%m-%d}" for month in YEAR})
        with self._steps.step("Airflow: the sensor waits for May, which is read") as say:
            folder = f"{OUTPUT}/airflow-month"
            # The data interval of a run by hand is the last one before its date.
            run = airflow_runs.run(example.flights_month, YEAR[5], output=folder)
            say.append(f"{run['wait']['since']} to {run['wait']['until']}: {run['read']['events']:,} flights")
            self._compare("Airflow's sensor", {"2013-05": f"{folder}/2013-05-01"})

    def _after(self) -> int:
        """Flights that departed when 2014 had begun, in UTC."""
        interval = datetime(2014, 1, 1, tzinfo=UTC), datetime(2014, 1, 1, 6, tzinfo=UTC)
        self._client.seal_stream(FLIGHTS)
        from example_dags.spark.flights_month import flights_between
        from pyspark.sql import SparkSession

        since, until = (time.isoformat() for time in interval)
        return flights_between(SparkSession.active(), str(FLIGHTS), since, until).count()

    def _compare(self, way: str, folders: Mapping[str, str]) -> None:
        from pyspark.sql import SparkSession

        from pravega_jobs.spark.file_digest import digest_of_files

        spark = SparkSession.active()
        self.digests[way] = {month: digest_of_files(spark, folder) for month, folder in folders.items()}
        first = next(iter(self.digests))
        for month, digest in self.digests[way].items():
            if self.digests[first][month] != digest:
                raise RuntimeError(f"{way} has other rows of {month} than {first}")


def _spark() -> None:
    """One Spark for Airflow and Dagster, with as many tasks at a time as the plain jobs have."""
    from pyspark.sql import SparkSession

    SparkSession.builder.master("local[*]").appName("year").getOrCreate()


def main() -> None:
    """Run all steps; ends with an error if two ways do not agree."""
    argparse.ArgumentParser(prog="python -m example_dags.year", description=__doc__).parse_args()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    sys.path.insert(0, str(airflow_runs.DAGS))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    small_spark.use()
    steps = Steps(OUTPUT / "year.log")
    steps.console.print(f"The log of all that runs is in {steps.log.relative_to(ROOT)}")
    try:
        with ExitStack() as stack:
            _run(steps, stack)
    except Exception as error:
        steps.console.print(f"[red]The year failed:[/red] {error!s} (more in {steps.log.relative_to(ROOT)})")
        raise


def _run(steps: Steps, stack: ExitStack) -> None:
    with steps.step("Pravega 0.13.0, Airflow and Spark start"):
        server = stack.enter_context(PravegaEmulator(settings=OFTEN))
        os.environ["PRAVEGA_CONTROLLER_URI"] = server.controller_uri
        home = OUTPUT / "airflow-home"
        home.mkdir()
        airflow_runs.prepare(home)
        airflow_runs.connect(server.controller_uri)
        example = airflow_runs.example("flights_months")
        _spark()
    year = Year(steps, stack.enter_context(PravegaClient(server.config)))
    year.replay()
    year.dagster()
    year.airflow(example)
    year.plain_spark()
    months = {month: digest[:16] for month, digest in year.digests["Dagster"].items()}
    steps.table(f"SHA-256 of each month, the same by {', '.join(year.digests)}", months)
    steps.table("Time", {step.what: f"{step.seconds:.1f} s" for step in steps.done})


if __name__ == "__main__":
    main()
