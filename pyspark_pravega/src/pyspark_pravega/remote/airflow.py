"""A Spark program that either scheduler has started: it reads the range, and makes the write, that it has got.

`PravegaSparkSubmitOperator` of Airflow submits it by `spark-submit`; a Pipes client of Dagster starts it. The program
needs neither Airflow nor Dagster.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, PravegaError
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import WORK_VARIABLE, JobReports, SubmittedWork
from pravega_jobs.retries import error_in
from pyspark_pravega.remote.dagster import open_pravega_pipes
from pyspark_pravega.remote.program import RemoteProgram

_PIPES_VARIABLE: Final = "DAGSTER_PIPES_CONTEXT"
_WAY: Final = (
    "PravegaSparkSubmitOperator of airflow_pravega hands over one range, as its arguments stream and stream_cuts"
)


class SubmittedProgram(RemoteProgram):
    """The reads, the write and the reports of a program that Airflow has submitted. `open_pravega_work` makes it."""

    way_to_read = _WAY
    way_to_write = "give the operator into=…"

    def __init__(self, order: WorkOrder, config: PravegaConfig) -> None:
        super().__init__(order, config, logging.getLogger(__name__))
        self._values: dict[str, Any] = {}

    def report(self, values: Mapping[str, Any]) -> None:
        """Add values to the task's result, under `reported`."""
        self._values |= values

    def done(self) -> dict[str, Any]:
        """See `RemoteProgram`."""
        return {**super().done(), "values": self._values}


@contextmanager
def open_pravega_work(*, connection: Mapping[str, Any] | None = None) -> Iterator[RemoteProgram]:
    """Open the work that this program has got from a scheduler.

    Args:
        connection: fields of `PravegaConfig` that differ where the program runs, such as `ca_file` or
            `controller_uri`. Passwords and tokens come from the environment (`PRAVEGA_PASSWORD`, `PRAVEGA_TOKEN`).

    Raises:
        ConfigurationError: the program has got no work, or a secret is not in the environment.
        LedgerError: the work was submitted again meanwhile, so that this program must not report.
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
    program = SubmittedProgram(submitted.work, config)
    try:
        yield program
        _report(config, submitted, program.done())
    except Exception as raised:
        error = error_in(raised)
        if error is not None:
            # The program's error matters more than one of the report.
            with suppress(PravegaError):
                _report(config, submitted, {"error": type(error).__name__, "message": str(error)})
        raise
    finally:
        program.progress.end()


def _report(config: PravegaConfig, submitted: SubmittedWork, report: Mapping[str, Any]) -> None:
    with PravegaClient(config) as client:
        client.run(JobReports(client.asynchronous, submitted.address).report(report))
