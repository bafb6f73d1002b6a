"""The operator that makes the streams of all tables that Debezium Server watches, since its sink makes no streams."""

from collections.abc import Iterable, Sequence
from typing import Any

from airflow.sdk import Context

from aiopravega import RetentionPolicy, ScalingPolicy
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.arguments import in_order
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.debezium.server.making import make_streams
from pravega_jobs.debezium.server.settings import settings_of_file


class PravegaDebeziumStreamsOperator(TemplatedTexts):
    """Makes the streams that Debezium Server will write to, and their scope, if they are missing.

    By the settings in `application.properties`, there is a stream for each table, and streams of transactions, DDL and
    heartbeats. If the settings do not give all names, or Pravega refuses a name, the task makes no stream and fails.
    Streams that are there keep their configuration, so that the task may run again.

    Returns `{"scope", "made", "there"}`: the scope, the names of the streams that were made now, and the names of the
    streams that were there.

    Args:
        settings: path of the file `application.properties`, where the task runs. (templated)
        tables: names as `schema.table`, instead of the tables that the settings name; needed if the settings have
            patterns or no tables. (templated)
        scaling: the number of segments of a new stream; by default one. Only one segment keeps truncates, and changes
            of tables without a key, in their order.
        retention: the time for which data of a new stream stays; by default forever.
        tags: tags of new streams. (templated)
        pravega_conn_id: id of the connection of the cluster that Debezium writes to. (templated)
    """

    template_fields: Sequence[str] = ("settings", "tables", "tags", "pravega_conn_id")

    def __init__(
        self,
        *,
        settings: str,
        tables: Sequence[str] | None = None,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = settings
        self.tables = tables
        self.scaling = scaling
        self.retention = retention
        self.tags = in_order(tags)
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Make the streams.

        Raises:
            AirflowFailException: there is no such file, its settings are not for Pravega's sink, or do not give all
                names of streams, or a name is not valid in Pravega.
            PravegaError: the cluster cannot be reached.
        """
        del context
        with failing_for_good():
            settings = settings_of_file(self.settings)
            with PravegaHook(self.pravega_conn_id).get_client() as client:
                making = make_streams(
                    client.asynchronous,
                    settings,
                    tables=self.tables,
                    scaling=self.scaling,
                    retention=self.retention,
                    tags=self.tags,
                )
                streams = client.run(making)
        self.log.info("Made %s in scope %s; there were %s", list(streams.made), streams.scope, list(streams.there))
        return streams.to_json()
