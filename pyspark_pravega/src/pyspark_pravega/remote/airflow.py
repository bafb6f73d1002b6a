"""A Spark program that either scheduler has started: it reads the range, and makes the write, that it has got.

`PravegaSparkSubmitOperator` of Airflow submits it by `spark-submit`; a Pipes client of Dagster starts it. The program
needs neither Airflow nor Dagster.
"""

import logging
import os
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, PravegaError
from pravega_jobs.remote.reports import WORK_VARIABLE, JobReports, SubmittedWork
from pravega_jobs.retries import error_in
from pravega_jobs.spark.progress import SparkProgress
from pyspark_pravega.remote.dagster import open_pravega_pipes
from pyspark_pravega.remote.program import RemoteProgram

_PIPES_VARIABLE: Final = "DAGSTER_PIPES_CONTEXT"
# A standalone cluster gives each driver an address of its log, which has the driver's id.
_LOG_ADDRESS: Final = "SPARK_DRIVER_LOG_URL_STDERR"
_DRIVER: Final = re.compile(r"[?&]driverId=([^&]+)")
# YARN names the container of a driver, and so its application.
_CONTAINER: Final = re.compile(r"container_(?:e\d+_)?(\d+_\d+)_\d+_\d+")
_WAY: Final = (
    "PravegaSparkSubmitOperator of airflow_pravega hands over one range, as its arguments stream and stream_cuts"
)


class SubmittedProgram(RemoteProgram):
    """The reads, the write and the reports of a program that Airflow has submitted. `open_pravega_work` makes it."""

    way_to_read = _WAY
    way_to_write = "give the operator into=…"

    def __init__(self, submitted: SubmittedWork, config: PravegaConfig) -> None:
        super().__init__(submitted.work, config, logging.getLogger(__name__))
        self._submitted = submitted
        self._values: dict[str, Any] = {}

    def begin(self) -> None:
        """Begin, unless the work was submitted again; where the cluster runs the driver, Airflow gets its progress.

        Raises:
            LedgerError: the work was submitted again, or was given up.
        """
        driver = _driver()
        self.send(lambda reports: reports.started(driver))
        if driver is not None:
            self.progress = SparkProgress(_SentLines(self))

    def send(self, change: Callable[[JobReports], Coroutine[Any, Any, None]]) -> None:
        """Change the report of this program.

        Raises:
            PravegaError: the cluster cannot be reached, or this program's report is not wanted.
        """
        with PravegaClient(self.config) as client:
            client.run(change(JobReports(client.asynchronous, self._submitted.address)))

    def report(self, values: Mapping[str, Any]) -> None:
        """Add values to the task's result, under `reported`."""
        self._values |= values

    def done(self) -> dict[str, Any]:
        """See `RemoteProgram`."""
        return {**super().done(), "values": self._values}


class _SentLines:
    """The log of a program's progress; Airflow also gets the last line."""

    def __init__(self, program: SubmittedProgram) -> None:
        self._program = program

    def info(self, event: str, /) -> None:
        self._program.log.info(event)
        with suppress(PravegaError):  # the next line can arrive
            self._program.send(lambda reports: reports.progressed(event))


def _driver() -> str | None:
    """The id by which the cluster knows this driver; None: it is not the cluster that runs it."""
    if found := _DRIVER.search(os.environ.get(_LOG_ADDRESS, "")):
        return found[1]
    container = _CONTAINER.fullmatch(os.environ.get("CONTAINER_ID", ""))
    return None if container is None else f"application_{container[1]}"


@contextmanager
def open_pravega_work(*, connection: Mapping[str, Any] | None = None) -> Iterator[RemoteProgram]:
    """Open the work that this program has got from a scheduler.

    Args:
        connection: fields of `PravegaConfig` that differ where the program runs, such as `ca_file` or
            `controller_uri`. Passwords and tokens come from the environment (`PRAVEGA_PASSWORD`, `PRAVEGA_TOKEN`).

    Raises:
        ConfigurationError: the program has got no work, or a secret is not in the environment.
        LedgerError: the work was submitted again, so that this program must not begin, or not report.
    """
    text = os.environ.get(WORK_VARIABLE)
    if text is None:
        if _PIPES_VARIABLE not in os.environ:
            raise ConfigurationError(
                "no work was handed over to this program: let PravegaSparkSubmitOperator of airflow_pravega submit it, "
                "or a Pipes client of Dagster start it with what hand_over of dagster_pravega gives"
            )
        with open_pravega_pipes(connection=connection) as pipes:
            yield pipes
        return
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    submitted = SubmittedWork.from_text(text)
    config = submitted.work.config(**(connection or {}))
    program = SubmittedProgram(submitted, config)
    program.begin()
    try:
        yield program
        done = program.done()
        program.send(lambda reports: reports.report(done))
    except Exception as raised:
        error = error_in(raised)
        if error is not None:
            failure = {"error": type(error).__name__, "message": str(error)}
            # The program's error matters more than one of the report.
            with suppress(PravegaError):
                program.send(lambda reports: reports.report(failure))
        raise
    finally:
        program.progress.end()
