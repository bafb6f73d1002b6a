"""The sensor that waits until a reader group of Java or Flink has read far enough."""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Context, PokeReturnValue, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.group_condition import GroupCondition, GroupPosition
from aiopravega.loop import LoopThread
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.tasks.arguments import check_choice, choice_of, optional_number
from airflow_pravega.triggers.reader_group import PravegaReaderGroupTrigger


class PravegaReaderGroupSensor(PravegaWaitingSensor):
    """Waits until a reader group has passed a cut, has little left to read, or has made a checkpoint.

    All conditions that are given have to hold. A group without automatic checkpoints stops at a scaling until a program
    or a user makes a checkpoint; the log reports it. Returns `{"group": name, "checkpoint": name, "lag_bytes": number,
    "unread_bytes": number, "cuts": {stream: text}}`, with the cuts up to which the group has read.

    Args:
        group: `scope/group`, or a group of the connection's default scope. (templated)
        past: the text of a cut, or a range, such as another sensor's output, which stands for its end. (templated)
        max_lag_bytes: bytes that may be left in all streams of the group, event headers (8 bytes each) included.
            (templated)
        newer_than: name of a checkpoint, such as another task's output: wait for a later one; an empty name waits for
            any. (templated)
        by: the position that counts for `past` and `max_lag_bytes`: `"read"`, up to which the readers have read; they
            may read the events before it again after a failure. Or `"checkpoint"`, that of the last checkpoint.
            (templated)
        deferrable: wait on the triggerer, without a worker slot.
        pravega_conn_id: id of the connection. (templated)
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    template_fields: Sequence[str] = ("group", "past", "max_lag_bytes", "newer_than", "by", "pravega_conn_id")

    def __init__(
        self,
        *,
        group: str,
        past: str | Mapping[str, str] | XComArg | None = None,
        max_lag_bytes: int | str | XComArg | None = None,
        newer_than: str | XComArg | None = None,
        by: str = GroupPosition.READ.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=group, **kwargs)
        check_choice(GroupPosition, "by", by)
        self.group = group
        self.past = past
        self.max_lag_bytes = max_lag_bytes
        self.newer_than = newer_than
        self.by = by

    def poke(self, context: Context) -> PokeReturnValue:
        self.stream = self.group  # as the template gave it
        return super().poke(context)

    def check(self, context: Context) -> PokeReturnValue:
        del context
        config = PravegaHook(self.pravega_conn_id).get_config()
        group, condition = StreamName.parse(self.group, config.scope), self._condition()
        description, unmet = LoopThread.shared().run(_describe(config, group, condition))
        if unmet is None:
            return PokeReturnValue(True, _result(description))
        self.log.info("Reader group %s: %s", group, unmet)
        if description.needs_checkpoint:
            self.log.warning(
                "Reader group %s waits at a scaling, and makes no checkpoints by itself: it reads nothing more until "
                "a checkpoint is made, such as by: pravega groups checkpoint %s",
                group,
                group,
            )
        if self.deferrable:
            self.wait_with(
                PravegaReaderGroupTrigger,
                group,
                past=None if condition.past is None else condition.past.to_text(),
                max_lag_bytes=condition.max_lag_bytes,
                newer_than=condition.newer_than,
                by=condition.by.value,
            )
        return PokeReturnValue(False)

    def _condition(self) -> GroupCondition:
        """Read the conditions from the rendered arguments.

        Raises:
            ConfigurationError: no condition is given, or an argument cannot work.
            InvalidStreamCutError: `past` is neither a cut nor a range.
        """
        past: StreamCut | None = None
        if isinstance(self.past, Mapping):
            past = StreamCutRange.from_json(self.past).end
        elif self.past is not None:
            past = StreamCut.from_text(str(self.past))
        return GroupCondition(
            past,
            optional_number("max_lag_bytes", self.max_lag_bytes),
            None if self.newer_than is None else str(self.newer_than),
            choice_of(GroupPosition, "by", self.by),
        )


async def _describe(
    config: PravegaConfig, group: StreamName, condition: GroupCondition
) -> tuple[ReaderGroupDescription, str | None]:
    async with PravegaClient(config) as client:
        description = await client.describe_reader_group(group.scope, group.stream)
        return description, await condition.unmet(client, description)


def _result(group: ReaderGroupDescription) -> dict[str, Any]:
    return {
        "group": f"{group.scope}/{group.name}",
        "checkpoint": group.last_checkpoint.name if group.last_checkpoint else None,
        "lag_bytes": group.lag_bytes,
        "unread_bytes": group.unread_bytes,
        "cuts": {str(each.stream): each.read.to_text() for each in group.streams},
    }
