"""The operator that keeps a table up: small files put together, old snapshots and files removed."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook
from airflow.sdk import Context

from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import ICEBERG, check_store, check_table, table_in
from airflow_pravega.tasks.arguments import check_known
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.upkeep.keep_up import upkeep_of
from pravega_jobs.upkeep.rules import KEEP, TARGET_FILE_BYTES, UpkeepRules


class PravegaTableUpkeepOperator(TemplatedTexts):
    """Keeps a table of Delta or Iceberg up; it may run at any time, also beside landings and merges.

    Small files of frequent landings are put together, snapshots that were replaced before `keep` expire, and files that
    nobody needs are removed. Rows and holdings stay: an interval that was landed or merged before is still known.

    Returns `{"table", "dry_run", "compacted_files", "compacted_bytes", "new_files", "expired_snapshots",
    "removed_files", "removed_bytes", "left"}`: numbers, and a list of what was not done, with reasons.

    Args:
        table: `delta:/folder`, `delta:s3://bucket/path` or `iceberg:catalog/namespace.table`. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. Its secrets go to the store
            and the catalog, and into no log, XCom or rendered template. (templated)
        target_file_bytes: the size that files are put together to.
        keep: what was a part of the table within this time stays readable; longer than the longest job that reads the
            table, or that writes it without this package.
        dry_run: change nothing, and return what would be done now.
    """

    template_fields: Sequence[str] = ("table", "iceberg_conn_id", "aws_conn_id")

    def __init__(
        self,
        *,
        table: str,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        target_file_bytes: int = TARGET_FILE_BYTES,
        keep: timedelta = KEEP,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_known(table, lambda text: check_table(text, None, iceberg_conn_id))
        check_known(table, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))
        if iceberg_conn_id is None:
            check_known(table, lambda text: upkeep_of(table_in(text, None, ICEBERG)))
        self.table = table
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.target_file_bytes = target_file_bytes
        self.keep = keep
        self.is_dry_run = dry_run  # a method of Airflow has the other name

    def execute(self, context: Context) -> dict[str, Any]:
        """Keep the table up.

        Raises:
            AirflowFailException: there is no such table, its kind has no upkeep, or a setting cannot work.
            PravegaError: the table's server cannot be reached, or others changed the table too often meanwhile.
        """
        del context
        with failing_for_good():
            connection = BaseHook.get_connection(self.iceberg_conn_id) if self.iceberg_conn_id else None
            keep_up = upkeep_of(table_in(self.table, connection, ICEBERG))
            with accessing(store_access(self.aws_conn_id)):
                done = keep_up(UpkeepRules(self.target_file_bytes, self.keep, self.is_dry_run))
        self.log.info("%s", done)
        return done.to_json()
