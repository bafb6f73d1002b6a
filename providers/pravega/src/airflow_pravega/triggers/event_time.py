"""The trigger of the sensor for event times: waits until a stream is complete."""

from typing import Any

from aiopravega import PravegaClient, StreamName
from airflow_pravega.polling import Answer, PolledValue, WatermarkOf
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

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        return WatermarkOf(StreamName.parse(self.stream, scope))

    async def check(self, client: PravegaClient, answer: Answer[int | None]) -> dict[str, Any] | None:
        return {"status": "complete"} if answer.value is None or answer.value >= self.until else None
