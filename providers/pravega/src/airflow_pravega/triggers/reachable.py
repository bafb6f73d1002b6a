"""The trigger of a sensor whose check found the cluster away: waits until the servers answer about the stream again.

Airflow keeps this module's path in its database, with the class of each trigger that waits.
"""

from typing import Any

from aiopravega import PravegaClient
from airflow_pravega.polling import Answer
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger

REACHABLE = "reachable"


class PravegaReachableTrigger(PravegaWaitingTrigger):
    """Fires once, when controller and segment stores answer about a stream: `{"status": "reachable"}`.

    Args:
        stream: `scope/stream`.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    async def check(self, client: PravegaClient, answer: Answer[Any]) -> dict[str, Any] | None:
        return {"status": REACHABLE}
