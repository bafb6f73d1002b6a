"""The trigger of the sensor for event times: waits until a stream is complete."""

from typing import Any

from aiopravega import PravegaClient, StreamName
from airflow_pravega.looks import Marks, Question, Seen
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaEventTimeTrigger(PravegaWaitingTrigger):
    """Fires once, when a stream's watermarks say that it is complete up to a time: `{"status": "complete"}`.

    Args:
        stream: `scope/stream`.
        until: the time, as the stream's writers count it.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = ("until",)

    def __init__(self, *, until: int, **waiting: Any) -> None:
        super().__init__(**waiting)
        self.until = until

    def question(self, scope: str | None) -> Question[Any]:
        return Marks(StreamName.parse(self.stream, scope))

    async def check(self, client: PravegaClient, seen: Seen[int | None]) -> dict[str, Any] | None:
        return {"status": "complete"} if seen.answer is None or seen.answer >= self.until else None
