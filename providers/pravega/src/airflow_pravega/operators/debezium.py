"""The operator that checks Debezium Server's settings before they lose or spoil data, or stop Debezium."""

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Context

from airflow_pravega.connections.postgres import libpq_dsn
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.arguments import check_known
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.debezium.server.connected import check_database
from pravega_jobs.debezium.server.report import check_debezium
from pravega_jobs.debezium.server.settings import harms_named, settings_of_file


class PravegaDebeziumCheckOperator(TemplatedTexts):
    """Fails if settings of Debezium Server lose or spoil data in front of Pravega, or stop it; warns of the rest.

    It reads `application.properties`, and asks the cluster for the streams that the settings lead to: Debezium makes no
    streams, and ends at the first event for a missing one. With `postgres_conn_id` it also inspects the database:
    `wal_level`, the user, `REPLICA IDENTITY` of each table and, if wanted, its longest row: one over 8 MiB stops
    Debezium at every start. The log has each finding with its reason and the setting to use instead.

    Returns `{"passed", "summary", "findings", "streams", "not_known"}`: each finding is `{"setting", "value", "harm",
    "fails", "why", "instead"}`; `not_known` says why not all streams are known, or is None. The values of settings that
    no finding names are not in it.

    Args:
        settings: path of the file `application.properties`, where the task runs. (templated)
        fail_on: the harms that fail: `loses`, `spoils`, `stops`, `breaks` (the application), `hides` (values) and
            `doubles`; others warn.
        postgres_conn_id: id of a connection of the type `postgres` to the database whose changes Debezium reads.
            (templated)
        measure_rows: measure all rows of its tables, which reads them.
        pravega_conn_id: id of the connection of the cluster that Debezium writes to. (templated)
    """

    template_fields: Sequence[str] = ("settings", "postgres_conn_id", "pravega_conn_id")

    def __init__(
        self,
        *,
        settings: str,
        fail_on: Sequence[str] = ("loses", "spoils", "stops", "breaks"),
        postgres_conn_id: str | None = None,
        measure_rows: bool = False,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for name in fail_on:
            check_known(name, lambda _: harms_named(fail_on))
        self.settings = settings
        if measure_rows and postgres_conn_id is None:
            raise AirflowFailException("measure_rows needs postgres_conn_id, the database that has the rows")
        self.fail_on = fail_on
        self.postgres_conn_id = postgres_conn_id
        self.measure_rows = measure_rows
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Check the settings and the streams.

        Raises:
            AirflowFailException: a finding fails, or there is no such file, or its settings are not for Pravega's sink,
                or name another database, or the database refuses.
            PravegaError: the cluster or the database cannot be reached.
        """
        del context
        with failing_for_good():
            fail_on, settings = harms_named(self.fail_on), settings_of_file(self.settings)
            hook, database = PravegaHook(self.pravega_conn_id), []
            if self.postgres_conn_id is not None:
                dsn = libpq_dsn(hook.get_connection(self.postgres_conn_id))
                database = check_database(dsn, settings, measure_rows=self.measure_rows)
            with hook.get_client() as client:
                report = client.run(check_debezium(client.asynchronous, settings, fail_on, database))
        (self.log.info if not report.findings else self.log.warning)("%s says:\n%s", self.settings, report.table())
        if not report.passed:
            raise AirflowFailException(report.summary())
        return report.to_json()
