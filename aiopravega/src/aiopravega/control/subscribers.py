"""The controller's calls about subscribers: those for whom consumption-based retention keeps a stream's events.

To Pravega, a subscriber is a reader group that reports how far it has read by itself. A group without readers does, and
costs one small internal stream. Which cuts may be reported: see `aiopravega.read.subscribers`.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aiopravega.control.convert import positions, stream_info
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import refusal, status_name
from aiopravega.errors import SubscriberNotFoundError
from aiopravega.names import SegmentId, StreamName

# The values that the Java client takes by default; without the last one the controller fails inside.
_REFRESH_MILLIS: Final = 3000
_NO_CHECKPOINTS: Final = -1
_OUTSTANDING_CHECKPOINTS: Final = 3


@dataclass(frozen=True, slots=True)
class ReaderGroup:
    """A reader group as its calls need it: `group_id` is a UUID's text, and `streams` are what it reads."""

    scope: str
    name: str
    group_id: str
    generation: int
    streams: frozenset[StreamName]

    @property
    def subscriber(self) -> str:
        """The name under which it is a subscriber of its streams."""
        return f"{self.scope}/{self.name}"


class SubscriberCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def create_reader_group(self, scope: str, name: str, stream: StreamName) -> ReaderGroup:
        """Make a reader group of one stream that is its subscriber, or return the group of this name that there is.

        The stream must exist: the controller would not answer.

        Raises:
            ScopeNotFoundError: there is no such scope.
            ConfigurationError: Pravega does not accept the name.
        """
        what = f"create reader group {scope}/{name}"
        everything = [pb.StreamCut(streamInfo=stream_info(stream))]
        answer = await self._rpc.call(
            "createReaderGroup",
            pb.ReaderGroupConfiguration(
                scope=scope,
                readerGroupName=name,
                groupRefreshTimeMillis=_REFRESH_MILLIS,
                automaticCheckpointIntervalMillis=_NO_CHECKPOINTS,
                maxOutstandingCheckpointRequest=_OUTSTANDING_CHECKPOINTS,
                retentionType=pb.ReaderGroupConfiguration.MANUAL,
                readerGroupId=str(uuid.uuid4()),
                startingStreamCuts=everything,
                endingStreamCuts=everything,
            ),
            pb.CreateReaderGroupResponse,
            what,
        )
        if answer.status != pb.CreateReaderGroupResponse.SUCCESS:
            raise refusal(status_name(pb.CreateReaderGroupResponse.Status, answer.status), what)
        return _group(answer.config)

    async def reader_group(self, scope: str, name: str) -> ReaderGroup:
        """A reader group that exists.

        Raises:
            SubscriberNotFoundError: there is no such group.
        """
        what = f"look up reader group {scope}/{name}"
        answer = await self._rpc.call(
            "getReaderGroupConfig",
            pb.ReaderGroupInfo(scope=scope, readerGroup=name),
            pb.ReaderGroupConfigResponse,
            what,
            missing=SubscriberNotFoundError,
        )
        if answer.status != pb.ReaderGroupConfigResponse.SUCCESS:
            raise refusal(status_name(pb.ReaderGroupConfigResponse.Status, answer.status), what)
        return _group(answer.config)

    async def delete_reader_group(self, group: ReaderGroup) -> bool:
        """Delete a reader group, which ends its subscription; returns False if there was none."""
        what = f"delete reader group {group.subscriber}"
        answer = await self._rpc.call(
            "deleteReaderGroup",
            pb.ReaderGroupInfo(
                scope=group.scope,
                readerGroup=group.name,
                readerGroupId=group.group_id,
                generation=group.generation,
            ),
            pb.DeleteReaderGroupStatus,
            what,
        )
        status = status_name(pb.DeleteReaderGroupStatus.Status, answer.status)
        if status not in ("SUCCESS", "RG_NOT_FOUND"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def list_subscribers(self, stream: StreamName) -> list[str]:
        """The subscribers of a stream, sorted: the names of reader groups with their scopes.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        what = f"list the subscribers of stream {stream}"
        answer = await self._rpc.call("listSubscribers", stream_info(stream), pb.SubscribersResponse, what)
        if answer.status != pb.SubscribersResponse.SUCCESS:
            raise refusal(status_name(pb.SubscribersResponse.Status, answer.status), what)
        return sorted(answer.subscribers)

    async def update_subscriber(self, group: ReaderGroup, stream: StreamName, cut: Mapping[SegmentId, int]) -> None:
        """Report that a subscriber needs nothing before a cut any more.

        Pravega accepts cuts inside events and beyond the tail, and truncates there: the caller must check them.

        Raises:
            SubscriberNotFoundError: the group does not subscribe to the stream.
            InvalidStreamCutError: the cut does not cover the stream, or lies before the last reported cut.
            StreamNotFoundError: there is no such stream.
        """
        what = f"move subscriber {group.subscriber} of stream {stream}"
        answer = await self._rpc.call(
            "updateSubscriberStreamCut",
            pb.SubscriberStreamCut(
                subscriber=group.subscriber,
                generation=group.generation,
                readerGroupId=group.group_id,
                streamCut=pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut)),
            ),
            pb.UpdateSubscriberStatus,
            what,
        )
        if answer.status != pb.UpdateSubscriberStatus.SUCCESS:
            raise refusal(status_name(pb.UpdateSubscriberStatus.Status, answer.status), what)


def _group(config: pb.ReaderGroupConfiguration) -> ReaderGroup:
    return ReaderGroup(
        config.scope,
        config.readerGroupName,
        config.readerGroupId,
        config.generation,
        frozenset(StreamName(cut.streamInfo.scope, cut.streamInfo.stream) for cut in config.startingStreamCuts),
    )
