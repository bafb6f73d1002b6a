"""The trigger of the sensor for reader groups: waits until a group of Java or Flink has read far enough."""

from typing import Any

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.group_condition import GroupCondition, GroupPosition
from airflow_pravega.polling import Answer, GroupDescriptionOf, PolledValue
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaReaderGroupTrigger(PravegaWaitingTrigger):
    """Fires once, when a group has read far enough: `{"status": "passed"}`.

    Args:
        stream: the group, as `scope/group`.
        past: the text of a cut that the group must have passed, or None.
        max_lag_bytes: bytes that may be left, or None.
        newer_than: name of a checkpoint that must not be the last one, or None.
        by: the position that counts: `"read"` or `"checkpoint"`.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = (
        "past",
        "max_lag_bytes",
        "newer_than",
        "by",
    )

    def __init__(
        self,
        *,
        past: str | None,
        max_lag_bytes: int | None,
        newer_than: str | None,
        by: str,
        **waiting: Any,
    ) -> None:
        super().__init__(**waiting)
        self.past = past
        self.max_lag_bytes = max_lag_bytes
        self.newer_than = newer_than
        self.by = by

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        return GroupDescriptionOf(StreamName.parse(self.stream, scope))

    async def check(self, client: PravegaClient, answer: Answer[ReaderGroupDescription]) -> dict[str, Any] | None:
        past = None if self.past is None else StreamCut.from_text(self.past)
        condition = GroupCondition(past, self.max_lag_bytes, self.newer_than, GroupPosition(self.by))
        return None if await condition.unmet(client, answer.value) is not None else {"status": "passed"}
