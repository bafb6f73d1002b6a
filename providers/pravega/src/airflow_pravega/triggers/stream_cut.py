"""The trigger of the sensor for cuts: waits until a stream has moved far enough."""

from typing import Any

from aiopravega import PravegaClient, StreamCut
from airflow_pravega.stream_moved import end_if_moved
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaStreamCutTrigger(PravegaWaitingTrigger):
    """Fires once, when enough is written after a cut: `{"status": "moved", "start": text, "end": text}`.

    Args:
        stream: the stream that `since` belongs to, as `scope/stream`; for people who read the trigger.
        since: text of a StreamCut.
        min_bytes: bytes to wait for, event headers (8 bytes each) included.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
    """

    def __init__(
        self,
        stream: str,
        since: str,
        min_bytes: int,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(stream, poll_interval, pravega_conn_id, carried)
        self.since = since
        self.min_bytes = min_bytes

    def arguments(self) -> dict[str, Any]:
        """See `PravegaWaitingTrigger`."""
        return {"since": self.since, "min_bytes": self.min_bytes}

    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """See `PravegaWaitingTrigger`."""
        start = StreamCut.from_text(self.since)
        end = await end_if_moved(client, start, self.min_bytes, check=False)
        return None if end is None else {"status": "moved", "start": start.to_text(), "end": end.to_text()}
