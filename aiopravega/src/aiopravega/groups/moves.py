"""Creation, reset and deletion of reader groups, so that Java's readers accept it.

Both the controller and the group's state have the configuration. As in Java (`ReaderGroupManagerImpl`,
`ReaderGroupImpl.resetReaderGroup`), a change is announced in the state, made at the controller, and then the state
starts again. Readers that see the announcement ask the controller, so that an interrupted change does no harm.
"""

import asyncio
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from aiopravega.control import Controller, GroupRetention, ReaderGroupConfig
from aiopravega.control.reader_groups import NO_ID
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import (
    CheckpointError,
    ConfigurationError,
    ReaderGroupError,
    ReadersOnlineError,
    StreamNotFoundError,
)
from aiopravega.groups.changes import begin_update, changes_event, whole_event
from aiopravega.groups.log import GroupLog
from aiopravega.groups.parts import Part
from aiopravega.groups.progress import whole_cut
from aiopravega.groups.published import is_published
from aiopravega.groups.state import GroupState, cuts_of
from aiopravega.groups.whole_states import write_new
from aiopravega.names import SegmentId, StreamName, check_name
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.read.plan import Planner
from aiopravega.store import SegmentStore


class GroupMoves:
    """Changes of the groups of a cluster."""

    def __init__(self, controller: Controller, store: SegmentStore, planner: Planner, given_cuts: GivenCuts) -> None:
        self._controller = controller
        self._store = store
        self._planner = planner
        self._given_cuts = given_cuts

    async def create(
        self, scope: str, group: str, parts: Iterable[Part], interval: timedelta | None, retention: GroupRetention
    ) -> bool:
        """See `GroupCalls.create_reader_group`."""
        check_name("reader group", group)
        starts, ends = await self._located(parts)
        wanted = ReaderGroupConfig(
            starts, ends, checkpoint_interval=interval, retention=retention, group_id=uuid.uuid4()
        )
        existing = await self._controller.create_group(scope, group, wanted)
        if existing.settings != wanted.settings:
            raise ReaderGroupError(
                f"reader group {scope}/{group} exists already and is set up another way: "
                f"{_differences(wanted.settings, existing.settings)}. Choose another name, or reset it"
            )
        log = await GroupLog.open(self._controller, self._store, scope, group)
        if log.state is not None:
            return False
        # Also if the group existed: the process that made it may have ended before the first record.
        done = await log.append(whole_event(write_new(existing, await self._first_offsets(existing))))
        return done and existing.group_id == wanted.group_id

    async def reset(
        self, scope: str, group: str, parts: Iterable[Part] | None = None, *, force: bool = False
    ) -> dict[StreamName, StreamCut]:
        """See `GroupCalls.reset_reader_group`."""
        given = None if parts is None else await self._located(parts)
        log = await GroupLog.open(self._controller, self._store, scope, group)
        while True:
            state = self._need(log, scope, group)
            if not force:
                _check_no_readers(state, f"reset reader group {scope}/{group}")
                _check_not_published(state, f"{scope}/{group}")
            config = state.config
            if config.group_id == NO_ID:
                raise ReaderGroupError(
                    f"reader group {scope}/{group} was made by a Pravega before 0.9: the controller does not know it. "
                    "Reset it once by Java's ReaderGroup.resetReaderGroup, which moves it to the controller"
                )
            new = _changed(config, given or await self._last_checkpoint(state, scope, group))
            if not await log.append(changes_event([begin_update()])):
                continue
            generation = await self._controller.update_group(scope, group, new)
            if generation is None:  # somebody else has reset it, and may have ended before it was in the state
                await self._adopt(log, await self._controller.group_config(scope, group))
                continue
            await self._adopt(log, replace(new, generation=generation))
            return dict(new.starts)

    async def delete(self, scope: str, group: str, *, force: bool = False) -> None:
        """See `GroupCalls.delete_reader_group`."""
        log, config = await asyncio.gather(
            GroupLog.open(self._controller, self._store, scope, group), self._controller.group_config(scope, group)
        )
        if log.state is not None and not force:
            _check_no_readers(log.state, f"delete reader group {scope}/{group}")
        await self._controller.delete_group(scope, group, config)

    async def _adopt(self, log: GroupLog, config: ReaderGroupConfig) -> None:
        """Start the state again with a configuration, unless a reader has done it."""
        event = _event_of_reset(config, await self._first_offsets(config))
        while log.state is not None and log.state.config.generation < config.generation:
            await log.append(event)

    def _need(self, log: GroupLog, scope: str, group: str) -> GroupState:
        if log.state is None:
            raise ReaderGroupError(
                f"reader group {scope}/{group} has no state: it is a subscriber that reports its position by itself. "
                "Move it with report()"
            )
        return log.state

    async def _located(self, parts: Iterable[Part]) -> tuple[dict[StreamName, StreamCut], dict[StreamName, StreamCut]]:
        """The starts and the ends in each stream, checked against the streams."""
        starts, ends = dict[StreamName, StreamCut](), dict[StreamName, StreamCut]()
        for part in parts:
            stream = part if isinstance(part, StreamName) else part.stream
            if stream is None:
                raise ConfigurationError("an unbounded cut or range names no stream: give the stream's name instead")
            if stream in starts:
                raise ConfigurationError(f"stream {stream} is given twice")
            wanted = _range(part)
            starts[stream] = await self._checked(stream, wanted.start)
            ends[stream] = await self._checked(stream, wanted.end)
        return starts, {stream: cut for stream, cut in ends.items() if not cut.is_unbounded}

    async def _checked(self, stream: StreamName, cut: StreamCut) -> StreamCut:
        if cut.is_unbounded:
            if not await self._controller.stream_exists(stream):  # the controller would not answer
                raise StreamNotFoundError(f"a reader group cannot read stream {stream}: the stream does not exist")
            return cut
        located = await self._given_cuts.located(stream, cut)
        await self._given_cuts.check_between_events(located)
        return located

    async def _last_checkpoint(
        self, state: GroupState, scope: str, group: str
    ) -> tuple[dict[StreamName, StreamCut], dict[StreamName, StreamCut]]:
        if not state.checkpoints.last:
            raise CheckpointError(
                f"reader group {scope}/{group} cannot be reset to its last checkpoint: there is none. Give a cut, "
                "or the names of its streams to begin at their heads"
            )
        starts = {}
        for stream in state.config.starts:
            offsets = cuts_of(state.checkpoints.last).get(stream)
            tail = await self._planner.tail(stream)
            starts[stream] = await whole_cut(
                self._controller, stream, offsets.positions if offsets else {}, state.ends_in(stream), tail
            )
        return starts, dict(state.config.ends)

    async def _first_offsets(self, config: ReaderGroupConfig) -> dict[SegmentId, int]:
        offsets: dict[SegmentId, int] = {}
        for stream, cut in config.starts.items():
            offsets |= await self._controller.head_segments(stream) if cut.is_unbounded else dict(cut.positions)
        return offsets


def _range(part: Part) -> StreamCutRange:
    if isinstance(part, StreamCutRange):
        return part
    return StreamCutRange(part if isinstance(part, StreamCut) else UNBOUNDED, UNBOUNDED)


def _event_of_reset(config: ReaderGroupConfig, offsets: Mapping[SegmentId, int]) -> bytes:
    """The event that starts the state of a group again."""
    return changes_event([write_new(config, dict(offsets))])


def _check_no_readers(state: GroupState, what: str) -> None:
    """Check that the group has no readers.

    Raises:
        ReadersOnlineError: it has readers.
    """
    if readers := sorted(state.assigned):
        raise ReadersOnlineError(
            f"cannot {what}: its readers {', '.join(map(repr, readers))} are online, or ended without saying so. Stop "
            "them first; take out those that are dead (pravega groups offline); or force it to take the group from all",
            frozenset(readers),
        )


def _check_not_published(state: GroupState, group: str) -> None:
    if is_published(state.checkpoints.last_name):
        raise ReaderGroupError(
            f"cannot reset reader group {group}: its position is published by a subscriber or by a query of Spark, "
            "which continues where its own checkpoint says. Delete the group and start the query with another "
            "checkpointLocation; force it if that program has ended forever, and readers of Java take over"
        )


def _changed(
    config: ReaderGroupConfig, cuts: tuple[Mapping[StreamName, StreamCut], Mapping[StreamName, StreamCut]]
) -> ReaderGroupConfig:
    starts, ends = cuts
    if starts.keys() != config.starts.keys():
        raise ConfigurationError(
            f"the group reads {', '.join(map(str, sorted(config.starts)))}: give a position in each of them, and in no "
            f"other stream; given are {', '.join(map(str, sorted(starts))) or 'none'}"
        )
    return replace(config, starts=starts, ends=ends)


def _differences(wanted: ReaderGroupConfig, existing: ReaderGroupConfig) -> str:
    names = ("starts", "ends", "checkpoint_interval", "refresh", "outstanding_checkpoints", "retention")
    return ", ".join(name for name in names if getattr(wanted, name) != getattr(existing, name))
