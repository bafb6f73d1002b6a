"""The base of the Spark operators: a session, its end when the task is killed, the user's transformation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.spark import session_settings
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage.reporting import facts_for_spark, openlineage_wants
from airflow_pravega.links import PravegaSparkLink, store_last_link, store_link
from airflow_pravega.spark.jvm_lines import jvm_lines_logged
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import task_name
from airflow_pravega.tasks.templates import TemplatedTexts
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
    """

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
        self.master = master
        self.spark_conn_id = spark_conn_id
        self.spark_conf = dict(spark_conf or {})
        self.options = dict(options or {})
        self.pravega_conn_id = pravega_conn_id
        self._interrupt: Callable[[], object] | None = None

    @property
    def needs_own_session(self) -> bool:
        """True if no session that already runs in the task's process will do."""
        return False

    def on_kill(self) -> None:
        """Cancel the jobs of this task."""
        if self._interrupt is not None:
            self._interrupt()

    @contextmanager
    def session(self, hook: PravegaHook, context: Context) -> Iterator["SparkSession"]:
        """A Spark session; `on_kill` cancels its jobs, and the task's log has its progress every ten seconds."""
        master, conf = self.settings(hook)
        if not master.startswith(CONNECT):  # whose server runs for all tasks
            conf = {**conf, **facts_for_spark(conf, context, *openlineage_wants())}
        name = task_name(context)
        with ExitStack() as stack:
            with jvm_lines_logged(self.log):
                made = session_for_block(name, master, conf, package=_PACKAGE, is_own=self.needs_own_session)
                spark = stack.enter_context(made)
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

    def transformed(self, frame: "DataFrame") -> "DataFrame":
        """The frame after the user's transformation."""
        transform = resolve_name(self.transform) if isinstance(self.transform, str) else self.transform
        return frame if transform is None else cast("DataFrame", transform(frame))

    def settings(self, hook: PravegaHook) -> tuple[str, dict[str, str]]:
        """The master, and Spark's settings."""
        if not self.spark_conn_id:
            return self.master or hook.spark_master() or LOCAL, self.spark_conf
        master, settings = session_settings(hook.get_connection(self.spark_conn_id))
        return master, {**settings, **self.spark_conf}
