"""The operator that maintains a commit ledger: finishes the writes of drivers that died, removes old records."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context

from aiopravega import PravegaClient, PravegaConfig
from aiopravega.loop import LoopThread
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.maintenance import LedgerReport, maintain_ledger, named_ledger


class PravegaLedgerMaintenanceOperator(TemplatedTexts):
    """Finishes the exactly-once writes that a commit ledger has as decided and not done; it may run at any time.

    Returns `{"ledger", "finished", "lost", "half_visible", "failed", "expired"}`: the names of writes that were
    finished now, of writes without any event in the stream, of writes that are half visible, of writes that could not
    be finished now, and the number of records that were removed. If a write could not be finished now, the task is
    tried again. If a write is half visible, the task finishes all other writes and then fails without another try: only
    the same write or a person can mend a half visible one.

    Args:
        ledger: `scope/table` of the ledger, or a scope, for its ledger with the default name; by default the ledger of
            the connection's default scope. (templated)
        expire: remove the records of writes that need not be remembered any more.
        fail_on_half_visible: fail when a write is half visible; otherwise only warn.
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("ledger", "pravega_conn_id")

    def __init__(
        self,
        *,
        ledger: str | None = None,
        expire: bool = False,
        fail_on_half_visible: bool = True,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.ledger = ledger
        self.expire = expire
        self.fail_on_half_visible = fail_on_half_visible
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Maintain the ledger.

        Raises:
            AirflowFailException: there is no such ledger, or a write is half visible.
            PravegaError: the cluster cannot be reached, or a write could not be finished now.
        """
        del context
        with failing_for_good():
            report = LoopThread.shared().run(self._maintain(PravegaHook(self.pravega_conn_id).get_config()))
            if report.failed or self.fail_on_half_visible:
                report.check()
        return report.to_json()

    async def _maintain(self, config: PravegaConfig) -> LedgerReport:
        named = named_ledger(self.ledger, config)
        async with PravegaClient(config) as client:
            return await maintain_ledger(client, *named, expire=self.expire)
