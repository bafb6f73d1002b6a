"""The trigger of a sensor that waits for another run's interval, until it is processed."""

from datetime import UTC, datetime
from typing import Any

from aiopravega import PravegaClient, StreamName
from aiopravega.ledger import Interval, IntervalState
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaIntervalTrigger(PravegaWaitingTrigger):
    """Fires once, when an interval is done, or skipped or given back: `{"status": "over"}`.

    Or at its deadline, with the status `late`; and if its range may be taken over, when it has failed, with `failed`.

    Args:
        stream: `scope/stream`.
        consumer: whose interval.
        interval: its name.
        deadline: until when, in ISO 8601 with its zone.
        take_over: whether the sensor takes the range of an interval that has failed.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
    """

    def __init__(
        self,
        stream: str,
        consumer: str,
        interval: str,
        deadline: str,
        take_over: bool,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(stream, poll_interval, pravega_conn_id, carried)
        self.consumer = consumer
        self.interval = interval
        self.deadline = deadline
        self.take_over = take_over

    def arguments(self) -> dict[str, Any]:
        """See `PravegaWaitingTrigger`."""
        return {
            "consumer": self.consumer,
            "interval": self.interval,
            "deadline": self.deadline,
            "take_over": self.take_over,
        }

    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """See `PravegaWaitingTrigger`."""
        stream = StreamName.parse(self.stream)
        record = await client.cut_ledger(stream.scope).find(Interval(self.consumer, stream, self.interval))
        if record is None or not record.is_waiting:
            status = "over"
        elif datetime.now(UTC) >= datetime.fromisoformat(self.deadline):
            status = "late"
        elif self.take_over and record.state is IntervalState.FAILED:
            status = "failed"
        else:
            return None
        return {"status": status}
