"""The operator that submits a program to Spark, through Airflow's own provider of Spark.

The program reports its work in a table of Pravega, which every try can read, on whatever machine the driver has run.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NoReturn, cast
from uuid import uuid4

from airflow.providers.common.compat.sdk import AirflowOptionalProviderFeatureException, AirflowTaskTimeout
from airflow.sdk import Context, XComArg

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage.reporting import ReportsLineage, facts_for_spark
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.spark.drivers import environment_with
from airflow_pravega.spark.range_work import RangeWork
from airflow_pravega.spark.submission import (
    DriverSubmission,
    check_ended_well,
    drivers_of,
    forget_report,
    hook_from,
    program_of,
    try_to_give_up,
)
from airflow_pravega.spark.writing import OnceWrite
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import ProcessesInterval, failing_for_good, from_event
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from airflow_pravega.triggers.waiting import GAVE_UP
from pravega_jobs.remote.orders import secrets_environment
from pravega_jobs.remote.reports import JobReports, ReportAddress, SubmittedWork
from pravega_jobs.retries import error_named
from pravega_jobs.spark.options import UNSPLIT

try:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
except ImportError as error:
    raise AirflowOptionalProviderFeatureException(
        "spark-submit needs Airflow's provider of Spark: pip install 'airflow-provider-pravega[spark-submit]'"
    ) from error


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

    A further try submits the program again, with the same range and the same write. With `deferrable=True`, and where
    Airflow's provider resumes a job, it waits for the driver that an earlier try has submitted, and returns its report.

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
        deferrable: submit to a standalone cluster, to YARN or to Kubernetes, and wait for the driver without a worker.
        poll_interval: seconds between two checks of the driver while the task is deferred.
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
        deferrable: bool = False,
        poll_interval: float = 10.0,
        **kwargs: Any,
    ) -> None:
        if "conn_id" in kwargs:
            raise ConfigurationError("conn_id is given: name the connection of Spark by spark_conn_id")
        super().__init__(conn_id=spark_conn_id, **{"multiple_outputs": True, **kwargs})  # so that `output["…"]` works
        check_stream(stream)
        if into is not None:
            check_stream(into)
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
        self.deferrable = deferrable
        self.poll_interval = poll_interval
        self._give_up: Callable[[], None] = lambda: None
        self._expect: Callable[[], None] = lambda: None
        self._is_resumed = False
        self._secrets: dict[str, str] = {}

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]  # the provider's method returns nothing
        """Check the range and the write, submit the program, and wait for its end.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work, or the program reports such an error.
            AirflowException: the program, or `spark-submit`, has failed.
            PravegaError: the cluster cannot be reached.
        """
        with self._opened(context) as (client, work):
            self.link_to_consumer(context, work.stream, work.given)
            work.declare(context)
            self.lineage = work.lineage()
            # A program does not report that a segment was split at a wrong offset: a further try splits none.
            order = work.order(UNSPLIT if context["ti"].try_number > 1 else {})
            if self.deferrable:
                self._submit(work, lambda address: SubmittedWork(order, address).to_environment(), context)
            self._secrets = secrets_environment(client.config, self.options, self.into_options)
            began = time.monotonic()
            address = ReportAddress(work.stream.scope, write_name(context), uuid4().hex)
            reports = JobReports(client.asynchronous, address)
            self._expect = lambda: client.run(reports.expect())
            self.env_vars = {**(self.env_vars or {}), **SubmittedWork(order, address).to_environment()}
            address, report = self._run(client, address, context)
            return self._finish(work, report, address, time.monotonic() - began, context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Continue after the driver has ended: check its report, and finish the interval.

        Raises:
            AirflowFailException: the program reports an error that no retry can help, or has not done its work.
            AirflowException: the driver has failed, or the cluster does not know it any more.
            AirflowTaskTimeout: the task's `execution_timeout` is over; the driver is killed.
            PravegaError: the cluster cannot be reached.
        """
        carried, address = event["carried"], ReportAddress(**event["carried"]["job"])
        drivers = drivers_of(carried["cluster"], carried["servers"], carried.get("access"))
        with self._opened(context, carried) as (client, work):
            self.lineage = work.lineage()
            error = from_event(event)
            if error is not None or event["status"] == GAVE_UP:
                client.run(try_to_give_up(client.asynchronous, address, drivers, carried["driver"], self.log))
                raise error or AirflowTaskTimeout(f"{carried['driver']} ran longer than the execution_timeout")
            report = client.run(JobReports(client.asynchronous, address).find())
            if report is not None and "error" in report:
                raise error_named(report["error"], report["message"])
            check_ended_well(event, drivers, carried["driver"], has_reported=report is not None)
            seconds = (datetime.now(UTC) - datetime.fromisoformat(carried["since"])).total_seconds()
            return self._finish(work, report, address, seconds, context)

    @contextmanager
    def _opened(
        self, context: Context, submitted: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[PravegaClient, RangeWork]]:
        """A client and the work of this task: what its arguments say, or what was submitted."""
        self._conn_id = self.spark_conn_id
        given, hook = cast("Mapping[str, str]", self.stream_cuts), PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            config = hook.get_config()
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
                yield client, RangeWork.of(client, self.stream, given, self.options, once, submitted)

    def _submit(
        self, work: RangeWork, variables: Callable[[ReportAddress], Mapping[str, str]], context: Context
    ) -> NoReturn:
        """Submit the program to the cluster, or find it there, and give the worker back, even at its end."""
        client, job, since = work.client, write_name(context), datetime.now(UTC)
        self._hook = hook_from(super()._get_hook)
        program = program_of(self._hook, self.application, job)
        submission = DriverSubmission(client.asynchronous, program, work.stream.scope, job, self.log)
        self._give_up = lambda: client.run(submission.give_up())
        facts = facts_for_spark(
            self.conf or {}, context, self._openlineage_inject_parent_job_info, self._openlineage_inject_transport_info
        )
        address = client.run(submission.submit(work.order(), variables, facts))
        self._give_up = lambda: None
        trigger = PravegaSparkDriverTrigger(
            **submission.named(address),
            watcher=submission.watcher,
            poll_interval=self.poll_interval,
            pravega_conn_id=self.pravega_conn_id,
            carried={**submission.named(address), **work.fixed(), "since": since.isoformat()},
            give_up_at=None if self.execution_timeout is None else (since + self.execution_timeout).isoformat(),
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def on_kill(self) -> None:
        """Kill `spark-submit`, so that it submits nothing any more, and the driver."""
        try:
            super().on_kill()
        finally:
            self._give_up()

    def _finish(
        self,
        work: RangeWork,
        report: Mapping[str, Any] | None,
        address: ReportAddress,
        seconds: float,
        context: Context,
    ) -> dict[str, Any]:
        try:
            result = work.finish(report, seconds, self.log, context)
        except ConfigurationError:
            work.client.run(forget_report(work.client.asynchronous, address, self.log))  # so that a repaired one is run
            raise
        self.lineage = work.lineage(result["events"], result["output"])
        work.client.run(forget_report(work.client.asynchronous, address, self.log))
        return result

    def _run(
        self, client: PravegaClient, address: ReportAddress, context: Context
    ) -> tuple[ReportAddress, Mapping[str, Any] | None]:
        """Have the provider submit the program, or wait for one that is submitted; returns its address and report."""

        def find() -> tuple[ReportAddress, Mapping[str, Any] | None]:
            newest = client.run(JobReports(client.asynchronous, address).newest()) if self._is_resumed else None
            found = address if newest is None else replace(address, submission=newest[0].submission)
            return found, client.run(JobReports(client.asynchronous, found).find())

        self._is_resumed = True  # until the program is submitted
        try:
            super().execute(context)
        except Exception as failure:
            report = find()[1]
            if report is not None and "error" in report:
                raise error_named(report["error"], report["message"]) from failure
            raise
        return find()

    def _get_hook(self) -> Any:
        """The provider's hook, changed: before each submission the report is expected, and the secrets are set."""
        hook = hook_from(super()._get_hook)
        connection = hook._connection  # noqa: SLF001  # the provider has no public way to read it
        on_cluster = connection["deploy_mode"] == "cluster" and not self.deferrable  # whose driver no hook submits
        if on_cluster and connection["master"].startswith(("spark://", "local")):
            raise ConfigurationError(
                f"connection {self.spark_conn_id!r} says deploy-mode cluster for {connection['master']}, where "
                "spark-submit takes Python programs in the deploy mode client only: say deferrable=True, or client"
            )
        submit = hook.submit

        def submit_work(application: str = "", **kwargs: Any) -> Any:
            self._expect()
            self._is_resumed = False
            with environment_with({} if on_cluster else self._secrets):
                return submit(application, **kwargs)

        # The provider calls it for a new job only, and not when it waits for a job that is submitted.
        hook.submit = submit_work  # of this one hook
        return hook
