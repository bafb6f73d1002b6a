"""The trigger of the sensor for cuts: waits until a stream has moved far enough."""

from typing import Any

from aiopravega import PravegaClient, StreamCut
from aiopravega.intervals.moved import MoveCondition, StreamWatch
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
        quiet_for: seconds for which nothing may have been written; they begin again where the triggerer starts again.
        sealed: whether to wait until the stream is sealed.
    """

    def __init__(
        self,
        stream: str,
        since: str,
        min_bytes: int,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
        quiet_for: float = 0.0,
        sealed: bool = False,
    ) -> None:
        super().__init__(stream, poll_interval, pravega_conn_id, carried)
        self.since = since
        self.min_bytes = min_bytes
        self.quiet_for = quiet_for
        self.sealed = sealed
        self._watch = StreamWatch(MoveCondition(min_bytes, quiet_for, sealed))

    def arguments(self) -> dict[str, Any]:
        """See `PravegaWaitingTrigger`."""
        return {
            "since": self.since,
            "min_bytes": self.min_bytes,
            "quiet_for": self.quiet_for,
            "sealed": self.sealed,
        }

    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """See `PravegaWaitingTrigger`."""
        start = StreamCut.from_text(self.since)
        end = await self._watch.end_if_moved(client, start, check=False)
        return None if end is None else {"status": "moved", "start": start.to_text(), "end": end.to_text()}
