"""The client's calls about reader groups and subscribers: a part of `aiopravega.client.PravegaClient`."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from aiopravega.control import Controller, GroupRetention
from aiopravega.control.reader_groups import CHECKPOINT_INTERVAL
from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.groups.checkpoints import checkpoint
from aiopravega.groups.cut_bytes import JavaCheckpoint
from aiopravega.groups.description import ReaderGroupDescription
from aiopravega.groups.log import GroupLog
from aiopravega.groups.moves import GroupMoves
from aiopravega.groups.offline import reader_offline
from aiopravega.groups.parts import Part
from aiopravega.groups.progress import stream_progress
from aiopravega.groups.state import GroupState, is_silent
from aiopravega.groups.subscribers import Subscribers
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.read.plan import Planner
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream

# Readers reach a checkpoint when they are asked for events, and look for one every few seconds.
CHECKPOINT_TIMEOUT: Final = 60.0


class GroupCalls:
    """Part of `PravegaClient`."""

    controller: Controller
    store: SegmentStore
    _planner: Planner
    _given_cuts: GivenCuts
    _subscribers: Subscribers

    # --- subscribers: see aiopravega.groups.subscribers -----------------------------------------------------

    @takes_stream
    async def subscribe(
        self, stream: StreamName | str, name: str, cut: StreamCut | None = None, *, between_events: bool = False
    ) -> None:
        """Have retention wait for a subscriber that needs nothing before `cut` (None: the head). Safe to repeat."""
        await self._subscribers.subscribe(StreamName.of(stream), name, cut, between_events=between_events)

    @takes_stream
    async def report(
        self, stream: StreamName | str, name: str, cut: StreamCut, *, between_events: bool = False
    ) -> None:
        """Report that a subscriber needs nothing before `cut` any more, so that retention may remove it.

        `between_events`: the cut is known to lie between events, so that the stream need not be read to check it.
        """
        await self._subscribers.report(StreamName.of(stream), name, cut, between_events=between_events)

    @takes_stream
    async def subscribers(self, stream: StreamName | str) -> list[str]:
        """The names of a stream's subscribers."""
        return await self._subscribers.names(StreamName.of(stream))

    @takes_stream
    async def unsubscribe(self, stream: StreamName | str, name: str) -> bool:
        """End a subscription; returns False if there was none."""
        return await self._subscribers.unsubscribe(StreamName.of(stream), name)

    # --- reader groups --------------------------------------------------------------------------------------

    async def reader_groups(self, scope: str) -> list[str]:
        """The names of the reader groups of a scope, sorted; those of subscribers without readers are among them.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        return await self.controller.list_reader_groups(scope)

    async def describe_reader_group(self, scope: str, group: str) -> ReaderGroupDescription:
        """Who reads what in a reader group, how far it is, and what is left to read.

        It is read from the state that the readers share; nothing is written, and no reader is asked.

        Raises:
            ReaderGroupNotFoundError: there is no such group.
            ReaderGroupStateError: its state is not understood.
            StreamNotFoundError: one of its streams was deleted.
            StreamMadeAgainError: one of its streams was deleted and made again.
        """
        log, config = await asyncio.gather(
            GroupLog.open(self.controller, self.store, scope, group), self.controller.group_config(scope, group)
        )
        state = log.state
        if state is None:
            return ReaderGroupDescription(scope, group, config, has_state=False)
        streams = await asyncio.gather(
            *(
                stream_progress(self.controller, self.store, self._planner, stream, state)
                for stream in sorted(state.config.starts)
            )
        )
        cuts = {each.stream: each.checkpoint for each in streams if each.checkpoint is not None}
        return ReaderGroupDescription(
            scope,
            group,
            state.config,
            readers={reader: dict(sorted(state.assigned[reader].items())) for reader in sorted(state.assigned)},
            unassigned=dict(sorted(state.unassigned.items())),
            streams=tuple(streams),
            last_checkpoint=JavaCheckpoint(state.checkpoints.last_name or "", cuts) if cuts else None,
            waiting_checkpoints=_waiting(state),
        )

    async def create_reader_group(
        self,
        scope: str,
        group: str,
        parts: Iterable[Part],
        *,
        checkpoint_interval: timedelta | None = CHECKPOINT_INTERVAL,
        retention: GroupRetention = GroupRetention.NONE,
    ) -> bool:
        """Make a reader group for Java's readers; returns False if it exists already, set up in the same way.

        Args:
            scope: where the group is.
            group: its name.
            parts: what it reads: streams from their heads, cuts to begin at, or ranges.
            checkpoint_interval: between automatic checkpoints; None: none, so that the group waits at each scaling
                until somebody makes one.
            retention: whether consumption-based retention waits for the group.

        Raises:
            ReaderGroupError: a group of this name is set up another way.
            InvalidStreamCutError: a cut does not fit its stream, or lies inside an event.
            StreamNotFoundError: there is no such stream.
            ConfigurationError: Pravega does not accept the name, or a stream is given twice.
        """
        return await self._moves().create(scope, group, parts, checkpoint_interval, retention)

    async def reset_reader_group(
        self, scope: str, group: str, parts: Iterable[Part] | None = None, *, force: bool = False
    ) -> dict[StreamName, StreamCut]:
        """Have a reader group start again; returns where, for each stream. Unbounded: at its head.

        Args:
            scope: where the group is.
            group: its name.
            parts: what it is to read, for all of its streams, as in `create_reader_group`; None: from its last
                checkpoint on.
            force: although readers are online. They get Java's `ReinitializationRequiredException`.

        Raises:
            ReadersOnlineError: readers are online, or ended without saying so.
            CheckpointError: it is to be reset to its last checkpoint, but there is none.
            ReaderGroupNotFoundError: there is no such group.
            InvalidStreamCutError: a cut does not fit its stream, or lies inside an event.
            ConfigurationError: the group reads other streams.
        """
        return await self._moves().reset(scope, group, parts, force=force)

    async def publish_reader_group(
        self, scope: str, group: str, cuts: Iterable[StreamCut], *, between_events: bool = False
    ) -> None:
        """Publish how far a program is that keeps its positions itself, as the position of a group without readers.

        The first time, the group is made. Retention waits for it, as for a subscriber; positions only move forward.

        Args:
            scope: where the group is.
            group: its name.
            cuts: one for each stream that the program reads, always of the same streams.
            between_events: the cuts are known to lie between events, as those of `tail`, `split` and `next_cut`; else
                up to 16 MiB a segment are read to check it.

        Raises:
            InvalidStreamCutError: a cut is inside an event, does not fit its stream, or is before one of earlier.
            ReadersOnlineError: readers read with this group.
            ConfigurationError: Pravega does not accept the name, or a cut is unbounded.
            ReaderGroupError: a group of this name is set up another way.
            StreamNotFoundError: there is no such stream.
        """
        given = {}
        for cut in cuts:
            if cut.stream is None:
                raise ConfigurationError("an unbounded StreamCut is not a position: give the head or the tail")
            given[cut.stream] = cut
        await self._subscribers.publish(scope, group, given, between_events=between_events)

    async def delete_reader_group(self, scope: str, group: str, *, force: bool = False) -> None:
        """Delete a reader group with its state; retention waits for it no more.

        Raises:
            ReadersOnlineError: readers are online, or ended without saying so; `force` deletes it all the same.
            ReaderGroupNotFoundError: there is no such group.
        """
        await self._moves().delete(scope, group, force=force)

    async def checkpoint_reader_group(
        self,
        scope: str,
        group: str,
        name: str | None = None,
        *,
        timeout: float = CHECKPOINT_TIMEOUT,
        force: bool = False,
    ) -> JavaCheckpoint:
        """Have all readers of a group reach a checkpoint, and wait for them, up to `timeout` seconds.

        A group that waits at a scaling continues after it. The programs that read see a checkpoint of this `name`
        (None: a new one) between their events.

        Raises:
            CheckpointError: readers do not reach it in time, too many are under way, or they are Flink's, which fail at
                it; `force` makes it all the same.
            ReaderGroupNotFoundError: there is no such group.
        """
        return await checkpoint(self.controller, self.store, scope, group, name, timeout, force=force)

    async def reader_offline(
        self, scope: str, group: str, reader: str, *, watch: float | None = None, force: bool = False
    ) -> Mapping[SegmentId, int]:
        """Say that a reader is gone, as Java's `readerOffline` does, so that others take its segments.

        Returns its segments with the offsets from where they are read: what it has read since the last checkpoint, or
        since it took a segment, is read again. The reader is watched before.

        Args:
            scope: where the group is.
            group: its name.
            reader: its name in the group.
            watch: for how many seconds it must be silent; None: for as long as it takes to be sure of a reader whose
                program asks for events. One that is busy with an event for longer is silent, too.
            force: at once, alive or not. A reader that is alive gets Java's `ReinitializationRequiredException`.

        Raises:
            ReadersOnlineError: it is alive.
            ReaderGroupError: it is not in the group.
            ConfigurationError: `watch` is too short to say.
            ReaderGroupNotFoundError: there is no such group.
        """
        return await reader_offline(self.controller, self.store, scope, group, reader, watch, force=force)

    def _moves(self) -> GroupMoves:
        return GroupMoves(self.controller, self.store, self._planner, self._given_cuts)


def _waiting(state: GroupState) -> dict[str, tuple[str, ...]]:
    waiting = state.checkpoints.waiting
    return {name: tuple(sorted(readers)) for name, readers in waiting.items() if not is_silent(name)}
