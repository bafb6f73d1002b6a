"""The controller's calls about subscribers: those for whom consumption-based retention keeps a stream's events.

To Pravega, a subscriber is a reader group that reports how far it has read by itself. A group without readers does, and
costs one small internal stream. Which cuts may be reported: see `aiopravega.groups.subscribers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aiopravega.control.convert import positions, stream_info
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.reader_groups import GroupRetention, ReaderGroupCalls, ReaderGroupConfig
from aiopravega.control.status import succeeded
from aiopravega.cuts import UNBOUNDED
from aiopravega.errors import ReaderGroupNotFoundError, SubscriberNotFoundError
from aiopravega.names import SegmentId, StreamName


@dataclass(frozen=True, slots=True)
class ReaderGroup:
    """A reader group that is a subscriber, with its set-up."""

    scope: str
    name: str
    config: ReaderGroupConfig

    @property
    def streams(self) -> frozenset[StreamName]:
        """The streams that it reads."""
        return frozenset(self.config.starts)

    @property
    def subscriber(self) -> str:
        """The name under which it is a subscriber of its streams."""
        return f"{self.scope}/{self.name}"


class SubscriberCalls(ReaderGroupCalls):
    """Part of `Controller`."""

    async def create_reader_group(self, scope: str, name: str, stream: StreamName) -> ReaderGroup:
        """Make a reader group of one stream that is its subscriber, or return the group of this name that there is.

        Raises:
            PravegaError: as `create_group` does.
        """
        wanted = ReaderGroupConfig({stream: UNBOUNDED}, checkpoint_interval=None, retention=GroupRetention.MANUAL)
        return ReaderGroup(scope, name, await self.create_group(scope, name, wanted))

    async def reader_group(self, scope: str, name: str) -> ReaderGroup:
        """A reader group that exists.

        Raises:
            SubscriberNotFoundError: the group does not exist.
        """
        try:
            return ReaderGroup(scope, name, await self.group_config(scope, name))
        except ReaderGroupNotFoundError as error:
            raise SubscriberNotFoundError(str(error)) from error

    async def delete_reader_group(self, group: ReaderGroup) -> bool:
        """Delete a reader group, which ends its subscription; returns False if there was none."""
        return await self.delete_group(group.scope, group.name, group.config)

    async def list_subscribers(self, stream: StreamName) -> list[str]:
        """The subscribers of a stream, sorted: the names of reader groups with their scopes.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        what = f"list the subscribers of stream {stream}"
        answer = await self._rpc.call("listSubscribers", stream_info(stream), pb.SubscribersResponse, what)
        succeeded(pb.SubscribersResponse.Status, answer.status, what)
        return sorted(answer.subscribers)

    async def update_subscriber(self, group: ReaderGroup, stream: StreamName, cut: Mapping[SegmentId, int]) -> None:
        """Report that a subscriber needs nothing before a cut any more.

        Pravega accepts cuts inside events and beyond the tail, and truncates there: the caller must check them.

        Raises:
            SubscriberNotFoundError: the group does not subscribe to the stream.
            InvalidStreamCutError: the cut does not cover the stream, or lies before the last reported cut.
            StreamNotFoundError: the stream does not exist.
        """
        what = f"move subscriber {group.subscriber} of stream {stream}"
        answer = await self._rpc.call(
            "updateSubscriberStreamCut",
            pb.SubscriberStreamCut(
                subscriber=group.subscriber,
                generation=group.config.generation,
                readerGroupId=str(group.config.group_id),
                streamCut=pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut)),
            ),
            pb.UpdateSubscriberStatus,
            what,
        )
        succeeded(pb.UpdateSubscriberStatus.Status, answer.status, what)
