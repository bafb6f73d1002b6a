"""The operator that judges how many dead letters count for a table or a stream, and the count for it and the sensor."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowFailException, BaseHook
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import (
    ICEBERG,
    POSTGRES,
    check_errors_sink,
    check_store,
    check_table,
    errors_in,
    table_in,
)
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.arguments import check_known, whole_number
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.landing import ErrorsStream, LandingTable, WrittenStream, count_errors
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.errors import errors_sink_of
from pravega_jobs.landing.store_access import accessing

# Of the result, which is an XCom.
_MOST_SHOWN: Final = 20
_SAMPLE: Final = 5


class CountsErrors(TemplatedTexts):
    """Counts the errors of a table or a stream.

    Args:
        table: the table that has the rows, as operators that land name it; or a stream, as `stream:scope/name`.
            (templated)
        errors: its errors table or errors stream; by default what the notes of the table name. (templated)
        consumer: only errors of this consumer. (templated)
        interval: only errors of this interval. (templated)
        commit_ledger: `scope/table` of the ledger of the writes to a stream; by default the one in its scope.
            (templated)
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the tables. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the tables. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the tables. (templated)
        pravega_conn_id: id of the connection to the cluster, for streams. (templated)
    """

    template_fields: Sequence[str] = (
        "table",
        "errors",
        "consumer",
        "interval",
        "commit_ledger",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        table: str,
        errors: str | None = None,
        consumer: str | None = None,
        interval: str | None = None,
        commit_ledger: str | None = None,
        postgres_conn_id: str | None = None,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        conn_ids = postgres_conn_id, iceberg_conn_id, aws_conn_id
        check_known(table, lambda text: _check_target(text, *conn_ids))
        if errors is not None:
            check_known(errors, lambda text: check_errors_sink(text, *conn_ids))
        self.table = table
        self.errors = errors
        self.consumer = consumer
        self.interval = interval
        self.commit_ledger = commit_ledger
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.pravega_conn_id = pravega_conn_id

    def counted(self) -> dict[str, Any]:
        """The errors that count.

        Returns:
            `{"table", "errors", "missing", "intervals", "sample"}`: their number, the number of intervals that miss
            some, the 20 intervals with the most, `[{"consumer", "interval", "generation", "state", "errors"}]`, and up
            to 5 errors of the newest intervals, `[{"interval", "pointer", "reason"}]`.

        Raises:
            ConfigurationError: the texts name no table or stream, or a connection cannot work.
            PravegaError: the cluster or a table cannot be asked.
        """
        conn_id, beside = self.postgres_conn_id or self.iceberg_conn_id, POSTGRES if self.postgres_conn_id else ICEBERG
        connection = BaseHook.get_connection(conn_id) if conn_id else None
        stream = WrittenStream.of_text(self.table, self.commit_ledger)
        target = stream or table_in(self.table, connection, beside)
        sink = None if self.errors is None else errors_sink_of(errors_in(self.errors, connection, beside))
        with accessing(store_access(self.aws_conn_id)):
            if stream is None and not isinstance(sink, ErrorsStream):
                return self._counted(target, sink)
            with PravegaHook(self.pravega_conn_id).get_client() as client:
                reached = None if sink is None else sink.with_client(client)
                return self._counted(target if stream is None else replace(stream, client=client), reached)

    def _counted(self, target: LandingTable | WrittenStream, sink: ErrorsSink | None) -> dict[str, Any]:
        found = count_errors(target, sink, consumer=self.consumer, interval=self.interval)
        names = ("consumer", "interval", "generation", "state", "errors")
        return {
            "table": self.table,
            "errors": found.errors,
            "missing": len(found.missing),
            "intervals": [{name: each[name] for name in names} for each in found.most(_MOST_SHOWN)],
            "sample": found.sample(_SAMPLE),
        }


class PravegaErrorsCheckOperator(CountsErrors):
    """Fails if more dead letters of a table or a stream count than may be, or if some of them are missing.

    Errors that a replay has mended do not count, nor do errors of older generations. Returns `{"table", "errors",
    "missing", "intervals", "sample"}`, with the 20 intervals that have the most and some of the newest errors. It also
    takes the arguments of `CountsErrors`.

    Args:
        most_errors: the most errors of all intervals together. (templated)
    """

    template_fields: Sequence[str] = (*CountsErrors.template_fields, "most_errors")

    def __init__(self, *, most_errors: int | str = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most_errors = most_errors

    def execute(self, context: Context) -> dict[str, Any]:
        """Count.

        Raises:
            AirflowFailException: there are more errors, some are missing, or an argument cannot work.
            PravegaError: the cluster or a table cannot be asked.
        """
        del context
        with failing_for_good():
            most = whole_number("most_errors", self.most_errors)
            result = self.counted()
        self.log.info("%s", result)
        if result["errors"] > most or result["missing"]:
            raise AirflowFailException(
                f"{self.table}: {result['errors']} events are errors, and most_errors is {most}; intervals with "
                f"missing errors: {result['missing']}. The most have {result['intervals'][:3]}. `pravega dead show` "
                "names the events"
            )
        return result


def _check_target(
    text: str, postgres_conn_id: str | None, iceberg_conn_id: str | None, aws_conn_id: str | None
) -> None:
    """Check the name of a table or a stream of rows; no connection is read.

    Raises:
        ConfigurationError: there is no such table or stream.
    """
    if WrittenStream.of_text(text) is None:
        check_table(text, postgres_conn_id, iceberg_conn_id)
        check_store(text, iceberg_conn_id, aws_conn_id)
    elif postgres_conn_id or iceberg_conn_id or aws_conn_id:
        raise ConfigurationError(f"{text} is a stream, and connections of tables are given: leave them out")
