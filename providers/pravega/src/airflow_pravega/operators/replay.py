"""The operator that tests code before it is deployed: recorded intervals through it, compared with what was written."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Context
from airflow.sdk.bases.xcom import BaseXCom

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import ICEBERG, POSTGRES, check_store, named_table, table_in
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_choice, check_known, choice_of, whole_number
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.landing import LandingTable
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.spark.options import with_columns

_LARGEST = 1_000_000_000


class OnDifference(StrEnum):
    """The rule for a replay that gives other rows than were written then."""

    FAIL = "fail"
    REPORT = "report"


class PravegaReplayOperator(PravegaStreamOperator):
    """Runs recorded intervals through a function, and compares what it gives with what was written then.

    Nothing is recorded, and nothing is written but into a scratch scope, if `into` names one. The log has the
    differences, by interval and by column, with a few samples; the XCom has the same as JSON.

    Args:
        stream: `scope/stream` of the intervals, or a stream of the connection's default scope. (templated)
        consumer: the consumer that took the intervals, as `pravega cuts list` shows it. (templated)
        intervals: their names; each must be done. (templated)
        code: the function, also as `@task.pravega` has decorated it, or its text `module:function`.
        compare_with: the stream that the intervals were written into, or the table in which they were landed, named as
            `table` of `@task.pravega`; by default the stream that the ledger names. (templated)
        key: the columns that identify a row; empty: whole rows are compared.
        write_id: the name of the writes, in which `{interval}` stands for the interval; by default the ledger names
            them, as tasks of this provider have them recorded. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default what the cut ledger names, or the one of the scope
            of the output. (templated)
        columns: the columns of events that are decoded as JSON (`options={"decode": "json"}`), as SQL writes them.
            (templated)
        options: options of the read, as `pravega_jobs.frames.read_arrow` has them. (templated)
        output_options: options of the output: of its writes, as `pravega_jobs.frames.write_arrow` has them, and those
            by which its events become columns. (templated)
        into: a scratch scope that gets the rows of now; it is made if it is missing. (templated)
        on_difference: `fail` the task if something differs, or `report` it.
        page: a file for the result as a page of HTML, written also before the task fails. (templated)
        samples: the number of rows that the result has of each difference.
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the table. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. (templated)
        largest: the most bytes of a range that is in memory as a whole, as a Table or a DataFrame is. (templated)
        pravega_conn_id: id of the connection; if it names a Schema Registry, events become the columns of their group
            without options. (templated)
    """

    template_fields: Sequence[str] = (
        "stream",
        "consumer",
        "intervals",
        "compare_with",
        "write_id",
        "commit_ledger",
        "columns",
        "options",
        "output_options",
        "into",
        "page",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "largest",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        consumer: str,
        intervals: Sequence[str] | str,
        code: Callable[..., Any] | str,
        compare_with: str | None = None,
        key: Sequence[str] | str = (),
        write_id: str | None = None,
        commit_ledger: str | None = None,
        columns: str | None = None,
        options: Mapping[str, str] | None = None,
        output_options: Mapping[str, str] | None = None,
        into: str | None = None,
        on_difference: str = OnDifference.FAIL.value,
        page: str | None = None,
        samples: int = 5,
        postgres_conn_id: str | None = None,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        largest: int | str = _LARGEST,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(OnDifference, "on_difference", on_difference)
        self.consumer = consumer
        self.intervals = intervals
        self.code = code
        self.compare_with = compare_with
        self.key = key
        self.write_id = write_id
        self.commit_ledger = commit_ledger
        self.columns = columns
        self.options = dict(options or {})
        self.output_options = dict(output_options or {})
        self.into = into
        self.on_difference = on_difference
        self.page = page
        self.samples = samples
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.largest = largest
        if self._names_table:
            check_known(compare_with, lambda text: named_table(text, postgres_conn_id, iceberg_conn_id))
            check_known(compare_with, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))

    @property
    def _names_table(self) -> bool:
        of_connection = self.postgres_conn_id or self.iceberg_conn_id
        return self.compare_with is not None and (of_connection is not None or ":" in self.compare_with)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Replay the intervals.

        Raises:
            AirflowFailException: something differs, and must not.
            ConfigurationError: an argument cannot work.
            PravegaError: an interval cannot be replayed, or the cluster cannot be reached.
        """
        need_arrow()
        from pravega_jobs.sandbox import replay

        hook = PravegaHook(self.pravega_conn_id)
        rule = choice_of(OnDifference, "on_difference", self.on_difference)
        with registry_of(hook) as registry, accessing(store_access(self.aws_conn_id)):
            result = replay(
                client,
                stream,
                consumer=self.consumer,
                intervals=self.intervals,
                code=self.code,
                compare_with=self._output(hook),
                key=self.key,
                write_id=self.write_id,
                commit_ledger=self.commit_ledger,
                options=with_columns(self.options, self.columns),
                output_options=self.output_options,
                registry=registry,
                into=self.into,
                samples=self.samples,
                largest=whole_number("largest", self.largest),
            )
        if self.page is not None:
            Path(self.page).write_text(result.to_html(), encoding="utf-8")
        content = result.to_json()
        if not result.is_same and rule is OnDifference.FAIL:
            context["ti"].xcom_push(BaseXCom.XCOM_RETURN_KEY, content)
            raise AirflowFailException(result.text)
        self.log.info("%s", result.text)
        return content

    def _output(self, hook: PravegaHook) -> StreamName | LandingTable | None:
        if self.compare_with is None:
            return None
        if not self._names_table:
            return StreamName.parse(self.compare_with, hook.get_config().scope)
        conn_id = self.postgres_conn_id or self.iceberg_conn_id
        connection = hook.get_connection(conn_id) if conn_id else None
        return table_in(self.compare_with, connection, POSTGRES if self.postgres_conn_id else ICEBERG)
