"""Subscribers of streams: while they report how far they have read, consumption-based retention waits for them.

Pravega truncates a stream at the earliest cut that its subscribers have reported, within the bounds of the stream's
retention policy: without a policy nothing is removed, and above the policy's maximum unread events are removed too. A
subscriber that has never reported protects nothing, so that one begins with a report here. Pravega would accept a cut
beyond the tail, and truncate there, so that each is checked against the stream first.
"""

from aiopravega.control import Controller, ReaderGroup
from aiopravega.cuts import END_OF_SEGMENT, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    StreamNotFoundError,
    SubscriberNotFoundError,
)
from aiopravega.names import StreamName, check_name
from aiopravega.read.plan import Planner
from aiopravega.store import SegmentStore


class Subscribers:
    """The subscribers of a cluster's streams.

    A subscriber has a name of its own in each stream: Pravega knows subscriber `etl` of stream `orders` as reader group
    `etl.orders` in the stream's scope. Subscribers of other clients are named in full, `scope/group`.
    """

    def __init__(self, controller: Controller, store: SegmentStore, planner: Planner) -> None:
        self._controller = controller
        self._store = store
        self._planner = planner

    async def subscribe(self, stream: StreamName, name: str, cut: StreamCut | None = None) -> None:
        """Have retention wait for a subscriber, which needs nothing before `cut` (None: the head). Safe to repeat.

        A subscriber that exists already moves to `cut`, if one is given.

        Raises:
            StreamNotFoundError: there is no such stream.
            InvalidStreamCutError: the cut is not between head and tail, or before one that was reported earlier.
            ConfigurationError: Pravega does not accept the name, or another reader group has it.
        """
        if not await self._controller.stream_exists(stream):
            raise StreamNotFoundError(f"cannot subscribe {name} to stream {stream}: the stream does not exist")
        known = await self._controller.list_subscribers(stream)
        group = await self._controller.create_reader_group(stream.scope, _group_name(stream, name), stream)
        if group.streams != {stream}:
            raise ConfigurationError(
                f"cannot subscribe {name} to stream {stream}: reader group {group.subscriber} reads "
                f"{', '.join(map(str, sorted(group.streams)))}. Choose another name"
            )
        if cut is None and group.subscriber not in known:
            cut = await self._planner.head(stream)
        if cut is not None:
            await self._move(group, stream, name, cut)

    async def report(self, stream: StreamName, name: str, cut: StreamCut) -> None:
        """Tell that a subscriber needs nothing before `cut` any more.

        Raises:
            SubscriberNotFoundError: there is no such subscriber.
            InvalidStreamCutError: the cut is not between head and tail, or before one that was reported earlier.
        """
        group = await self._controller.reader_group(stream.scope, _group_name(stream, name))
        await self._move(group, stream, name, cut)

    async def names(self, stream: StreamName) -> list[str]:
        """The subscribers of a stream, sorted.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        prefix, suffix = f"{stream.scope}/", f".{stream.stream}"
        return sorted(
            full.removeprefix(prefix).removesuffix(suffix)
            if full.startswith(prefix) and full.endswith(suffix)
            else full
            for full in await self._controller.list_subscribers(stream)
        )

    async def unsubscribe(self, stream: StreamName, name: str) -> bool:
        """End a subscription, so that retention does not wait for it any more; returns False if there was none."""
        try:
            group = await self._controller.reader_group(stream.scope, _group_name(stream, name))
        except SubscriberNotFoundError:
            return False
        return await self._controller.delete_reader_group(group)

    async def _move(self, group: ReaderGroup, stream: StreamName, name: str, cut: StreamCut) -> None:
        if cut.stream != stream:
            raise InvalidStreamCutError(
                f"subscriber {name} of {stream} cannot move to {cut}: give a StreamCut of that stream"
            )
        # A range from it to the tail is one: so whatever lies before the head, beyond the tail or elsewhere is refused.
        await self._planner.ranges(StreamCutRange(cut, await self._planner.tail(stream)))
        # Pravega truncates at offsets: it does not know -1 here.
        positions = {
            segment: (await self._store.info(segment)).write_offset if offset == END_OF_SEGMENT else offset
            for segment, offset in cut.positions.items()
        }
        try:
            await self._controller.update_subscriber(group, stream, positions)
        except InvalidStreamCutError as error:
            raise InvalidStreamCutError(
                f"subscriber {name} of {stream} cannot move to {cut}: it has reported a later one, so that what "
                "lies between may be removed already, or the cut does not cover the stream. Is the name used by two "
                "readers, or has one begun anew? Use another name, or unsubscribe this one"
            ) from error


def _group_name(stream: StreamName, name: str) -> str:
    return f"{check_name('subscriber', name)}.{stream.stream}"
