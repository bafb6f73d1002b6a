"""The controller's calls about reader groups: how one is set up. How far it has read is in its own stream.

What a configuration means: `ReaderGroupConfig` in Pravega's client. See `aiopravega.groups` for the rest.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import IntEnum
from types import MappingProxyType
from typing import Final, Self

from aiopravega.control.convert import positions, stream_info
from aiopravega.control.policies import MILLISECOND
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import status_name, succeeded
from aiopravega.cuts import UNBOUNDED, StreamCut
from aiopravega.errors import ConfigurationError, ReaderGroupNotFoundError
from aiopravega.names import SegmentId, StreamName

# The values that the Java client takes by default; without the last one the controller fails inside.
REFRESH: Final = timedelta(seconds=3)
CHECKPOINT_INTERVAL: Final = timedelta(seconds=30)
OUTSTANDING_CHECKPOINTS: Final = 3
_NO_CHECKPOINTS: Final = -1
# Java writes this for a missing id: a group of a release before 0.9, which the controller does not know.
NO_ID: Final = uuid.UUID(int=0)


class GroupRetention(IntEnum):
    """The part of a group in consumption-based retention: NONE holds no data back, the others report positions."""

    NONE = 0
    MANUAL = 1
    AUTOMATIC = 2


@dataclass(frozen=True, slots=True)
class ReaderGroupConfig:
    """The set-up of a reader group.

    Attributes:
        starts: where the readers begin in each stream; the unbounded cut is the stream's head at that time.
        ends: where they end; without an entry, or with the unbounded cut, they do not end.
        checkpoint_interval: between automatic checkpoints; None: there are none.
        refresh: how often a reader looks for changes of the group.
        outstanding_checkpoints: how many checkpoints may be under way at a time.
        retention: its part in the retention of its streams.
        group_id: made with the group; another group of the same name has another one.
        generation: how often the configuration was changed.
    """

    starts: Mapping[StreamName, StreamCut]
    ends: Mapping[StreamName, StreamCut] = field(default_factory=dict)
    checkpoint_interval: timedelta | None = CHECKPOINT_INTERVAL
    refresh: timedelta = REFRESH
    outstanding_checkpoints: int = OUTSTANDING_CHECKPOINTS
    retention: GroupRetention = GroupRetention.NONE
    group_id: uuid.UUID = NO_ID
    generation: int = 0

    def __post_init__(self) -> None:
        if not self.starts:
            raise ConfigurationError("a reader group reads at least one stream: name one")
        bounded = {stream: cut for stream, cut in self.ends.items() if not cut.is_unbounded}
        for stream, cut in (*self.starts.items(), *bounded.items()):
            if cut.stream not in (None, stream):
                raise ConfigurationError(f"{cut} is given as a position in {stream}, but is of another stream")
        object.__setattr__(self, "starts", MappingProxyType(dict(self.starts)))
        object.__setattr__(self, "ends", MappingProxyType(bounded))

    @property
    def settings(self) -> Self:
        """The configuration without what distinguishes groups and generations, to compare two."""
        return replace(self, group_id=NO_ID, generation=0)


def no_group(scope: str, name: str) -> ReaderGroupNotFoundError:
    """The error that a group does not exist, the same for its configuration and its state, which are asked together."""
    return ReaderGroupNotFoundError(f"reader group {scope}/{name} does not exist. Check scope and name")


class ReaderGroupCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def create_group(self, scope: str, name: str, config: ReaderGroupConfig) -> ReaderGroupConfig:
        """Make a reader group, or find the one of this name; returns how it is set up, which may be another way.

        Without an id of the caller's, a new one is made. The streams must exist: the controller would not answer.

        Raises:
            ScopeNotFoundError: the scope does not exist.
            ConfigurationError: Pravega does not accept the name.
        """
        what = f"create reader group {scope}/{name}"
        made = config if config.group_id != NO_ID else replace(config, group_id=uuid.uuid4())
        request = _message(scope, name, replace(made, generation=0))
        answer = await self._rpc.call("createReaderGroup", request, pb.CreateReaderGroupResponse, what)
        succeeded(pb.CreateReaderGroupResponse.Status, answer.status, what)
        return _config(answer.config)

    async def group_config(self, scope: str, name: str) -> ReaderGroupConfig:
        """The set-up of a reader group.

        Raises:
            ReaderGroupNotFoundError: the group does not exist.
        """
        what = f"look up reader group {scope}/{name}"
        try:
            answer = await self._rpc.call(
                "getReaderGroupConfig",
                pb.ReaderGroupInfo(scope=scope, readerGroup=name),
                pb.ReaderGroupConfigResponse,
                what,
                missing=ReaderGroupNotFoundError,
            )
            succeeded(pb.ReaderGroupConfigResponse.Status, answer.status, what)
        except ReaderGroupNotFoundError as error:
            raise no_group(scope, name) from error
        return _config(answer.config)

    async def update_group(self, scope: str, name: str, config: ReaderGroupConfig) -> int | None:
        """Change how a group is set up; returns the new generation, or None if it is not that generation any more.

        Raises:
            ReaderGroupNotFoundError: the group does not exist.
        """
        what = f"update reader group {scope}/{name}"
        answer = await self._rpc.call(
            "updateReaderGroup", _message(scope, name, config), pb.UpdateReaderGroupResponse, what
        )
        if answer.status == pb.UpdateReaderGroupResponse.INVALID_CONFIG:
            return None
        succeeded(pb.UpdateReaderGroupResponse.Status, answer.status, what)
        return answer.generation

    async def delete_group(self, scope: str, name: str, config: ReaderGroupConfig) -> bool:
        """Delete a reader group, which ends its subscriptions; returns False if there was none."""
        what = f"delete reader group {scope}/{name}"
        answer = await self._rpc.call(
            "deleteReaderGroup",
            pb.ReaderGroupInfo(
                scope=scope, readerGroup=name, readerGroupId=str(config.group_id), generation=config.generation
            ),
            pb.DeleteReaderGroupStatus,
            what,
        )
        return succeeded(pb.DeleteReaderGroupStatus.Status, answer.status, what, "RG_NOT_FOUND")


def _message(scope: str, name: str, config: ReaderGroupConfig) -> pb.ReaderGroupConfiguration:
    interval = config.checkpoint_interval
    return pb.ReaderGroupConfiguration(
        scope=scope,
        readerGroupName=name,
        groupRefreshTimeMillis=config.refresh // MILLISECOND,
        automaticCheckpointIntervalMillis=_NO_CHECKPOINTS if interval is None else interval // MILLISECOND,
        maxOutstandingCheckpointRequest=config.outstanding_checkpoints,
        retentionType=config.retention.value,
        generation=config.generation,
        readerGroupId=str(config.group_id),
        startingStreamCuts=_cut_messages(config.starts),
        # As Java writes it, and as the controller needs it: an entry for each stream, an empty one where it has no
        # end.
        endingStreamCuts=_cut_messages(dict.fromkeys(config.starts, UNBOUNDED) | dict(config.ends)),
    )


def _cut_messages(cuts: Mapping[StreamName, StreamCut]) -> list[pb.StreamCut]:
    return [pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut.positions)) for stream, cut in cuts.items()]


def _config(message: pb.ReaderGroupConfiguration) -> ReaderGroupConfig:
    interval = message.automaticCheckpointIntervalMillis
    return ReaderGroupConfig(
        starts=_cuts(message.startingStreamCuts),
        ends=_cuts(message.endingStreamCuts),
        checkpoint_interval=interval * MILLISECOND if interval > 0 else None,
        refresh=message.groupRefreshTimeMillis * MILLISECOND,
        outstanding_checkpoints=message.maxOutstandingCheckpointRequest,
        retention=GroupRetention(
            pb.ReaderGroupConfiguration.RetentionType.Value(
                status_name(pb.ReaderGroupConfiguration.RetentionType, message.retentionType)
            )
        ),
        group_id=uuid.UUID(message.readerGroupId),
        generation=message.generation,
    )


def _cuts(messages: Iterable[pb.StreamCut]) -> dict[StreamName, StreamCut]:
    cuts = {}
    for message in messages:
        stream = StreamName(message.streamInfo.scope, message.streamInfo.stream)
        offsets = {SegmentId.from_int(stream, segment): offset for segment, offset in message.cut.items()}
        cuts[stream] = StreamCut(stream, offsets) if offsets else UNBOUNDED
    return cuts
