"""The operator that submits a program to Spark by `spark-submit`, through Airflow's own provider of Spark.

The program gets its range, and its write, by `open_pravega_work` of `pyspark_pravega.remote.airflow`. It reports its
work in a table of Pravega, which every try can read, on whatever machine the driver has run.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast
from uuid import uuid4

from airflow.providers.common.compat.sdk import AirflowOptionalProviderFeatureException
from airflow.sdk import Context, XComArg

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.config import ENVIRONMENT_PREFIX
from aiopravega.errors import ConfigurationError, PravegaError
from airflow_pravega.asset_events import tell, took, written
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, range_read, written_once
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.spark.range import times_options
from airflow_pravega.spark.writing import OnceWrite
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import ProcessesInterval, failing_for_good
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import declare, finish, shown
from pravega_jobs.ranges import fix_range
from pravega_jobs.remote.orders import (
    InputOrder,
    RangeOrder,
    WorkOrder,
    connection_without_secrets,
    secrets_environment,
)
from pravega_jobs.remote.reports import JobReports, ReportAddress, SubmittedWork
from pravega_jobs.retries import error_named
from pravega_jobs.spark.options import UNSPLIT
from pravega_jobs.writes import Written

try:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
except ImportError as error:
    raise AirflowOptionalProviderFeatureException(
        "spark-submit needs Airflow's provider of Spark: pip install 'airflow-provider-pravega[spark-submit]'"
    ) from error

_EVENTS: Final = "events"


class PravegaSparkSubmitOperator(ReportsLineage, LinkedToConsumer, ProcessesInterval, SparkSubmitOperator):
    """Submits a program to Spark that reads exactly one range of a stream and, if wanted, writes to another one once.

    The program opens its work by `open_pravega_work` of `pyspark_pravega.remote.airflow`, reads the range as a
    DataFrame by `work.read(spark)`, and writes by `work.write(frame)`. Its work is JSON in a variable of its
    environment. Passwords and tokens are only in the environment of `spark-submit`, and of a driver that `spark-submit`
    runs itself (deploy mode `client`): a driver on the cluster has to get `PRAVEGA_PASSWORD` or `PRAVEGA_TOKEN` from
    the cluster.

    Returns `{"stream", "events", "bytes", "cuts", "seconds", "output", "reported"}`: the number of events that the
    program has read (None if it has not read the whole range, or more than once), the bytes of the range in the stream
    (event headers included), its cuts, the result of the write to `into`, as `PravegaSparkWriteOperator` returns it, or
    None, and the values that the program has reported by `work.report({…})`.

    Where Airflow's provider resumes a job (a driver on YARN or Kubernetes, from Airflow 3.3 on), a further try waits
    for the driver that an earlier try has submitted, and returns its report. Otherwise a further try submits the
    program again, with the same range and the same write.

    Args:
        application: the program, a Python file. (templated)
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, as `PravegaSparkReadOperator` takes it. (templated)
        options: further options of the data source for the read. (templated)
        into: the stream that the program writes to, which is made if it is missing; None: it writes to no stream.
            (templated)
        into_options: further options of the data source for the write. (templated)
        write_id: name of the write, as `PravegaSparkWriteOperator` has it. (templated)
        rebuild: the generation of the write. (templated)
        commit_ledger: `scope/table` of the commit ledger. (templated)
        spark_conn_id: id of a connection of Spark's provider, for `spark-submit`. (templated)
        pravega_conn_id: id of the connection. (templated)
        **kwargs: the arguments of `SparkSubmitOperator` of Airflow's provider.
    """

    template_fields: Sequence[str] = (
        *SparkSubmitOperator.template_fields,
        "stream",
        "stream_cuts",
        "options",
        "into",
        "into_options",
        "write_id",
        "rebuild",
        "commit_ledger",
        "spark_conn_id",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        stream: str,
        stream_cuts: Mapping[str, str] | XComArg,
        options: Mapping[str, str] | None = None,
        into: str | None = None,
        into_options: Mapping[str, str] | None = None,
        write_id: str | None = None,
        rebuild: int | str = 1,
        commit_ledger: str | None = None,
        spark_conn_id: str = "spark_default",
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        if "conn_id" in kwargs:
            raise ConfigurationError("conn_id is given: name the connection of Spark by spark_conn_id")
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(conn_id=spark_conn_id, **kwargs)
        for name in (stream, into):
            if name is not None:
                check_stream(name)
        self.stream = stream
        self.stream_cuts = stream_cuts
        self.options = dict(options or {})
        self.into = into
        self.into_options = dict(into_options or {})
        self.write_id = write_id
        self.rebuild = rebuild
        self.commit_ledger = commit_ledger
        self.spark_conn_id = spark_conn_id
        self.pravega_conn_id = pravega_conn_id
        self._expect: Callable[[], None] | None = None
        self._secrets: dict[str, str] = {}

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]  # the provider's method returns nothing
        """Check the range and the write, submit the program, and wait for its end.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work, or the program reports such an error.
            AirflowException: the program, or `spark-submit`, has failed.
            PravegaError: the cluster cannot be reached.
        """
        given = cast("Mapping[str, str]", self.stream_cuts)
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            config = hook.get_config()
            stream = StreamName.parse(self.stream, config.scope)
            self.link_to_consumer(context, stream, given)
            times_options(given, self.options)
            once = None
            if self.into is not None:
                once = OnceWrite.named(
                    config,
                    self.into,
                    self.write_id or write_name(context),
                    rebuild=self.rebuild,
                    commit_ledger=self.commit_ledger,
                    options=self.into_options,
                )
            with hook.get_client() as client:
                cuts = StreamCutRange.from_json(given)
                fixed = client.run(fix_range(client.asynchronous, stream, cuts.start, cuts.end))
                declare(client, stream, given, None if once is None else once.sink, context)
                source = range_read(config, stream, fixed.cuts, given, bytes=fixed.size)
                self.lineage = Lineage((source,))
                piece = RangeOrder(fixed.cuts, fixed.size, _times(given))
                # A program does not report that a segment was split at a wrong offset: a further try splits none.
                options = {**self.options, **(UNSPLIT if context["ti"].try_number > 1 else {})}
                work = WorkOrder(
                    connection_without_secrets(config),
                    {_EVENTS: InputOrder(stream, (piece,), options)},
                    None if once is None else once.order(),
                )
                self._secrets = secrets_environment(config, self.options, self.into_options)
                began = time.monotonic()
                address = ReportAddress(stream.scope, write_name(context), uuid4().hex)
                reports = JobReports(client.asynchronous, address)
                self._expect = lambda: client.run(reports.expect())
                self.env_vars = {**(self.env_vars or {}), **SubmittedWork(work, address).to_environment()}
                report = self._run(lambda: client.run(reports.find()), context)
                seconds = round(time.monotonic() - began, 3)
                events = self._events_read(report)
                self.lineage = Lineage((replace(source, events=events),))
                output = None if once is None else self._output(client, once, report)
                if once is not None and output is not None:
                    self.lineage = replace(self.lineage, outputs=(written_once(config, output, once.columns),))
                finish(client, stream, given, fixed.cuts, context)
                made = () if output is None else (written(output, given),)
                tell(context, *made, took(stream, fixed.cuts, given, rows=events, bytes=fixed.size))
                with suppress(PravegaError):  # all is recorded; the next submission of the job replaces these reports
                    client.run(reports.forget())
        result = {
            "stream": str(stream),
            "events": events,
            "bytes": fixed.size,
            "cuts": fixed.cuts.to_json(),
            "seconds": seconds,
            "output": output,
            "reported": report["values"],
        }
        self.log.info("Processed %s %s: %s events, %s bytes", stream, shown(fixed.cuts), events, f"{fixed.size:,}")
        return result

    def _run(self, find: Callable[[], Mapping[str, Any] | None], context: Context) -> Mapping[str, Any]:
        """Have the provider submit the program, or wait for one that is submitted; returns the program's report."""
        self._conn_id = self.spark_conn_id
        try:
            super().execute(context)
        except Exception as failure:
            report = find()
            if report is not None and "error" in report:
                raise error_named(report["error"], report["message"]) from failure
            raise
        report = find()
        if report is None:
            raise ConfigurationError(
                "the program has ended well, but has not reported: let it open its work by open_pravega_work of "
                "pyspark_pravega.remote.airflow, and end the block without an error"
            )
        return report

    def _events_read(self, report: Mapping[str, Any]) -> int | None:
        if _EVENTS not in report["inputs"]:
            raise ConfigurationError(
                "the program has ended well, but it has not read its range, which is therefore not done: let it call "
                "work.read(spark)"
            )
        events: int | None = report["inputs"][_EVENTS]["events"]
        return events

    def _output(self, client: PravegaClient, once: OnceWrite, report: Mapping[str, Any]) -> dict[str, Any]:
        record, output = once.find(client), report["output"]
        if record is None or output is None:
            raise ConfigurationError(
                f"the program has ended well, but it has not written {once.write_id!r} to {once.stream}: let it call "
                "work.write(frame), or leave out into"
            )
        return once.described(Written(record, output["by_this_try"], output["seconds"]), self.log)

    def _get_hook(self) -> Any:
        """The provider's hook, changed: before each submission the report is expected, and the secrets are set."""
        hook = super()._get_hook()
        connection = hook._connection  # noqa: SLF001  # the provider has no public way to read it
        on_cluster = connection["deploy_mode"] == "cluster"
        if on_cluster and connection["master"].startswith(("spark://", "local")):
            raise ConfigurationError(
                f"connection {self.spark_conn_id!r} says deploy-mode cluster for {connection['master']}, where Spark "
                "takes Python programs in the deploy mode client only: say client, or submit to YARN or Kubernetes"
            )
        submit = hook.submit

        def submit_work(application: str = "", **kwargs: Any) -> Any:
            if self._expect is not None:
                self._expect()
            with _environment({} if on_cluster else self._secrets):
                return submit(application, **kwargs)

        # The provider calls it for a new job only, and not when it waits for a job that is submitted.
        hook.submit = submit_work  # type: ignore[method-assign]  # of this one hook
        return hook


def _times(given: Mapping[str, str]) -> tuple[datetime, datetime] | None:
    if "since" not in given or "until" not in given:
        return None
    return datetime.fromisoformat(given["since"]), datetime.fromisoformat(given["until"])


@contextmanager
def _environment(secrets: Mapping[str, str]) -> Iterator[None]:
    """Run a block whose processes have the secrets, and no other settings of Pravega, in their environment."""
    before = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIX)}
    for name in before:
        del os.environ[name]
    os.environ |= secrets
    try:
        yield
    finally:
        for name in secrets:
            os.environ.pop(name, None)
        os.environ |= before
