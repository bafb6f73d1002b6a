"""The operator that makes the streams of all tables that Debezium Server watches: its sink makes none."""

from collections.abc import Iterable, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from aiopravega import RetentionPolicy, ScalingPolicy
from aiopravega.gates.debezium_file import settings_of_file
from aiopravega.gates.debezium_making import make_streams
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.failures import failing_for_good


class PravegaDebeziumStreamsOperator(BaseOperator):
    """Makes the streams that Debezium Server will write to, and their scope, if they are missing.

    They are those of its tables, and of transactions, DDL and heartbeats, by the settings in `application.properties`.
    If not all of them are known, or Pravega refuses a name, it makes none and fails. Streams that are there keep their
    configuration, so it may run again.

    Returns `{"scope", "made", "there"}`: the names of streams that were made now, and of those that were there.

    Args:
        settings: path of the file `application.properties`, where the task runs. (templated)
        tables: as `schema.table`, instead of those that the settings name; needed if these are patterns, or missing.
            (templated)
        scaling: how many segments a new stream has; by default one. Only one segment keeps truncates, and changes of
            tables without a key, in their order.
        retention: how long the data of a new stream stays; by default forever.
        tags: of new streams. (templated)
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
        self.tags = list(tags)
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Make the streams.

        Raises:
            AirflowFailException: there is no such file, its settings are not for Pravega's sink, or not all names of
                streams are known, or Pravega's.
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
                found = client.run(making)
        self.log.info("Made %s in scope %s; there were %s", list(found.made), found.scope, list(found.there))
        return found.to_json()
