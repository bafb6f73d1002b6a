"""The base of the Spark operators: a session, its end when the task is killed, the user's transformation.

With `deferrable=True` a Spark Connect server writes while the task has left its worker.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, cast

from airflow.providers.common.compat.sdk import AirflowException, AirflowTaskTimeout
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError, PravegaError
from airflow_pravega.connections.spark import session_settings
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage.reporting import facts_for_spark, openlineage_wants
from airflow_pravega.links import PravegaSparkLink, store_last_link, store_link
from airflow_pravega.spark.jvm_lines import jvm_lines_logged
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import failing_for_good, from_event
from airflow_pravega.tasks.identity import task_name
from airflow_pravega.tasks.templates import TemplatedTexts
from airflow_pravega.triggers.spark_operation import PravegaSparkOperationTrigger
from airflow_pravega.triggers.waiting import GAVE_UP
from pravega_jobs.spark import connect
from pravega_jobs.spark.progress import SparkProgress
from pravega_jobs.spark.session import CONNECT, LOCAL, interruptible, pages_of, session_for_block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PACKAGE: Final = "airflow-provider-pravega"


class PravegaSparkOperator(TemplatedTexts):
    """The arguments of all Spark operators, and their session.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        transform: a function, or its dotted name, that gets the DataFrame of the range and returns the one to be
            written. It gets the columns `event`, `scope`, `stream`, `segment_id` and `offset`, or the columns of
            decoded events.
        master: Spark's master; by default the connection's, or `local[*]`. (templated)
        spark_conn_id: instead of `master`, id of a connection of Spark's provider, for its master and settings.
            (templated)
        spark_conf: Spark's settings; they win over the connection's. (templated)
        options: further options of the data source. (templated)
        pravega_conn_id: id of the connection. (templated)
        deferrable: have a Spark Connect server (`sc://host:port`) work while the task waits without a worker.
        poll_interval: seconds between two questions while that server is away.
    """

    # True for operators whose work is one operation of Spark, after which nothing is left to do on a cluster.
    can_defer: ClassVar[bool] = False
    template_fields: Sequence[str] = ("stream", "master", "spark_conn_id", "spark_conf", "options", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        transform: "Callable[[DataFrame], DataFrame] | str | None" = None,
        master: str | None = None,
        spark_conn_id: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        deferrable: bool = False,
        poll_interval: float = 10.0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        check_stream(stream)
        self.stream = stream
        self.transform = transform
        if master is not None and spark_conn_id is not None:
            with failing_for_good():
                raise ConfigurationError("master and spark_conn_id are given, but both name a master: give one of them")
        if deferrable and not self.can_defer:
            raise ConfigurationError(
                f"{type(self).__name__} has deferrable=True, but works in several steps, with a worker between them: "
                "leave it out, or take PravegaSparkSubmitOperator, whose program works on a cluster"
            )
        self.master = master
        self.spark_conn_id = spark_conn_id
        self.spark_conf = dict(spark_conf or {})
        self.options = dict(options or {})
        self.pravega_conn_id = pravega_conn_id
        self.deferrable = deferrable
        self.poll_interval = poll_interval
        self._interrupt: Callable[[], object] | None = None

    def on_kill(self) -> None:
        """Cancel the jobs of this task."""
        if self._interrupt is not None:
            self._interrupt()

    @contextmanager
    def session(self, hook: PravegaHook, context: Context) -> Iterator["SparkSession"]:
        """A Spark session; `on_kill` cancels its jobs, and the task's log has its progress every ten seconds."""
        master, conf = self._settings(hook)
        if not master.startswith(CONNECT):  # whose server runs for all tasks
            conf = {**conf, **facts_for_spark(conf, context, *openlineage_wants())}
        name = task_name(context)
        with ExitStack() as stack:
            with jvm_lines_logged(self.log):
                spark = stack.enter_context(session_for_block(name, master, conf, package=_PACKAGE))
            self._interrupt = stack.enter_context(interruptible(spark, name))
            progress = SparkProgress(self.log)
            progress.watch(spark)
            stack.callback(progress.end)
            pages = pages_of(spark)
            if pages.live:
                store_link(context, PravegaSparkLink(), pages.live)
            try:
                yield spark
            finally:
                self._interrupt = None
                if pages.live or pages.kept:
                    store_last_link(context, PravegaSparkLink(), pages.kept, self.log)

    def server(self, hook: PravegaHook) -> str:
        """The URL of the Spark Connect server that works while the task waits.

        Raises:
            ConfigurationError: the master leads elsewhere, or its URL may have a secret.
        """
        url, _ = self._settings(hook)
        try:
            connect.check_url(url)
        except ConfigurationError as error:
            raise ConfigurationError(f"deferrable=True, but {error}") from error
        return url

    def give_back(self, operation: connect.Operation, carried: Mapping[str, Any]) -> NoReturn:
        """Leave the worker while a server works. `execute_complete` gets an event with `carried`, as plain JSON."""
        since = datetime.now(UTC)
        self.log.info("Waiting without a worker for %s", operation)
        trigger = PravegaSparkOperationTrigger(
            operation=asdict(operation),
            poll_interval=self.poll_interval,
            carried={**carried, "operation": asdict(operation), "since": since.isoformat()},
            give_up_at=None if self.execution_timeout is None else (since + self.execution_timeout).isoformat(),
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def ended(self, event: Mapping[str, Any]) -> tuple[connect.OperationEnd, float]:
        """The end of the operation that the task has waited for, and the seconds that it took; its session is ended.

        Raises:
            AirflowException: it has failed.
            AirflowTaskTimeout: the task's `execution_timeout` is over.
            PravegaError: the trigger could not wait.
        """
        carried = event["carried"]
        operation = connect.Operation(**carried["operation"])
        try:
            connect.end(operation)
        except PravegaError as unended:
            self.log.warning("The session of %s is left until the server ends it: %s", operation, unended)
        error = from_event(dict(event))
        if error is not None:
            raise error
        if event["status"] == GAVE_UP:
            raise AirflowTaskTimeout(f"{operation} ran longer than the execution_timeout")
        end = connect.OperationEnd(**event["end"])
        if end.has_ended_well is False:
            raise AirflowException(f"{operation} has failed: {end.message}")
        return end, round((datetime.now(UTC) - datetime.fromisoformat(carried["since"])).total_seconds(), 3)

    def transformed(self, frame: "DataFrame") -> "DataFrame":
        """The frame after the user's transformation."""
        transform = resolve_name(self.transform) if isinstance(self.transform, str) else self.transform
        return frame if transform is None else cast("DataFrame", transform(frame))

    def _settings(self, hook: PravegaHook) -> tuple[str, dict[str, str]]:
        """The master, and Spark's settings."""
        if not self.spark_conn_id:
            return self.master or hook.spark_master() or LOCAL, self.spark_conf
        master, settings = session_settings(hook.get_connection(self.spark_conn_id))
        return master, {**settings, **self.spark_conf}


def check_known(end: connect.OperationEnd) -> None:
    """Check that the server has known an operation until its end.

    Raises:
        AirflowException: it has not, so it is not known if the work is done.
    """
    if end.has_ended_well is None:
        raise AirflowException(
            f"the Spark Connect server does not know the operation any more: {end.message} It was started again, or "
            "no triggerer has followed the operation for its spark.connect.execute.manager.detachedTimeout"
        )
