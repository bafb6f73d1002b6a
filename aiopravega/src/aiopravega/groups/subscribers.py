"""Subscribers of streams: consumption-based retention waits for subscribers that report their positions.

Pravega truncates a stream at the earliest cut that its subscribers have reported, within the bounds of the stream's
retention policy. Without a policy nothing is removed; above the policy's maximum, unread events are also removed. A
subscriber that has never reported protects nothing, so a subscription begins with a report here. Pravega would accept a
cut after the tail, or inside an event, and truncate there, so each cut is checked against the stream first. Pravega
does not return a reported cut, so it is also published in the group's state: see `published`.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping

from aiopravega.control import Controller, GroupRetention, ReaderGroup, ReaderGroupConfig
from aiopravega.cuts import UNBOUNDED, StreamCut
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    ReaderGroupError,
    StreamNotFoundError,
    SubscriberNotFoundError,
)
from aiopravega.groups.log import GroupLog
from aiopravega.groups.published import check_no_readers, publish
from aiopravega.names import SegmentId, StreamName, check_name
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.store import SegmentStore

Cuts = Mapping[StreamName, StreamCut]


class Subscribers:
    """The subscribers of a cluster's streams.

    A subscriber's name is local to its stream: subscriber `etl` of stream `orders` is reader group `etl.orders` in the
    stream's scope. Subscribers of other clients have their full names, `scope/group`.
    """

    def __init__(self, controller: Controller, store: SegmentStore, given_cuts: GivenCuts) -> None:
        self._controller = controller
        self._store = store
        self._given_cuts = given_cuts

    async def subscribe(
        self, stream: StreamName, name: str, cut: StreamCut | None = None, *, between_events: bool = False
    ) -> None:
        """Let retention wait for a subscriber that needs no events before `cut` (None: the head). Safe to repeat.

        A subscriber that exists already moves to `cut`, if one is given. `between_events`: see `report`.

        Raises:
            StreamNotFoundError: there is no such stream.
            InvalidStreamCutError: the cut is not between head and tail, or before an earlier report.
            ConfigurationError: Pravega does not accept the name, or another reader group has it.
        """
        if not await self._controller.stream_exists(stream):
            raise StreamNotFoundError(f"cannot subscribe {name} to stream {stream}: the stream does not exist")
        group = await self._controller.create_reader_group(stream.scope, _group_name(stream, name), stream)
        if group.streams != {stream}:
            raise ConfigurationError(
                f"cannot subscribe {name} to stream {stream}: reader group {group.subscriber} reads "
                f"{', '.join(map(str, sorted(group.streams)))}. Choose another name"
            )
        if group.subscriber not in await self._controller.list_subscribers(stream):
            # To make it again changes nothing, and the controller does not answer the request to delete it.
            raise ConfigurationError(
                f"cannot subscribe {name} to stream {stream}: reader group {group.subscriber} belongs to a deleted "
                "stream of this name, and protects nothing. Choose another name"
            )
        if cut is not None:
            await self._move(group, {stream: cut}, f"subscriber {name} of {stream}", between_events=between_events)
            return
        # Also if the group existed: the process that made it may have ended before its report. After a report, this
        # changes nothing.
        head = await self._controller.head_segments(stream)
        with contextlib.suppress(InvalidStreamCutError):
            await self._controller.update_subscriber(group, stream, head)
            log = await self._log(group)
            if log.state is None:
                await publish(log, group, {}, head)

    async def report(self, stream: StreamName, name: str, cut: StreamCut, *, between_events: bool = False) -> None:
        """Report that a subscriber needs no events before `cut` any more.

        Up to 16 MiB a segment are read to check that the cut is between events, unless it is the head or the tail.
        `between_events` skips this check, for cuts of `next_cut`, `split` and `tail`.

        Raises:
            SubscriberNotFoundError: there is no such subscriber.
            InvalidStreamCutError: the cut is not between head and tail, is inside an event, or is before an earlier
                report.
        """
        group = await self._controller.reader_group(stream.scope, _group_name(stream, name))
        await self._move(group, {stream: cut}, f"subscriber {name} of {stream}", between_events=between_events)

    async def publish(self, scope: str, name: str, cuts: Cuts, *, between_events: bool) -> None:
        """See `GroupCalls.publish_reader_group`."""
        check_name("reader group", name)
        wanted = ReaderGroupConfig(
            dict.fromkeys(cuts, UNBOUNDED), checkpoint_interval=None, retention=GroupRetention.MANUAL
        )
        for stream in cuts:
            if not await self._controller.stream_exists(stream):
                raise StreamNotFoundError(f"cannot publish a position in {stream}: the stream does not exist")
        group = ReaderGroup(scope, name, await self._controller.create_group(scope, name, wanted))
        what = f"reader group {group.subscriber}"
        if group.config.settings != wanted.settings:
            streams = ", ".join(map(str, sorted(group.streams)))
            raise ReaderGroupError(
                f"{what} exists already and is set up another way: it reads {streams}, with checkpoints every "
                f"{group.config.checkpoint_interval}, with retention {group.config.retention.name}. Choose another name"
            )
        await self._move(group, cuts, what, between_events=between_events)

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

    async def _move(self, group: ReaderGroup, cuts: Cuts, who: str, *, between_events: bool) -> None:
        log = await self._log(group)
        check_no_readers(log.state, group, f"move {who}")
        located = {}
        for stream, cut in cuts.items():
            located[stream] = await self._given_cuts.located(stream, cut)
            if not between_events:
                await self._given_cuts.check_between_events(located[stream])
        for stream, cut in located.items():
            try:
                await self._controller.update_subscriber(group, stream, cut.positions)
            except InvalidStreamCutError as error:
                raise InvalidStreamCutError(
                    f"{who} cannot move to {cut}: it has reported a later cut, so events between "
                    "them may be removed already, or the cut does not cover the stream. Do two readers use the "
                    "name, or has one started again? Use another name, or unsubscribe this one"
                ) from error
        await publish(log, group, located, await self._heads(group.streams - located.keys()))

    async def _log(self, group: ReaderGroup) -> GroupLog:
        return await GroupLog.open(self._controller, self._store, group.scope, group.name)

    async def _heads(self, streams: Iterable[StreamName]) -> dict[SegmentId, int]:
        heads = await asyncio.gather(*map(self._controller.head_segments, streams))
        return {segment: offset for head in heads for segment, offset in head.items()}


def _group_name(stream: StreamName, name: str) -> str:
    return f"{check_name('subscriber', name)}.{stream.stream}"
