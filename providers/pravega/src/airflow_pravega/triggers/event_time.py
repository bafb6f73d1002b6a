"""The trigger of the sensor for event times: waits until a stream is complete."""

from typing import Any

from aiopravega import PravegaClient, StreamName
from aiopravega.event_time import Reach
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaEventTimeTrigger(PravegaWaitingTrigger):
    """Fires once, when a stream's watermarks say that it is complete up to a time: `{"status": "complete"}`.

    Args:
        stream: `scope/stream`.
        until: the time, as the stream's writers count it.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
    """

    def __init__(
        self,
        stream: str,
        until: int,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(stream, poll_interval, pravega_conn_id, carried)
        self.until = until

    def arguments(self) -> dict[str, Any]:
        """See `PravegaWaitingTrigger`."""
        return {"until": self.until}

    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """See `PravegaWaitingTrigger`."""
        name = StreamName.parse(self.stream)
        cut = await client.cut_at(name.scope, name.stream, self.until)
        return None if cut.reach is Reach.NOT_YET else {"status": "complete"}
