"""Removal of a dead reader from its group, so that other readers get its segments: Java's `readerOffline`.

The state does not have the time of a reader's last record. But a reader whose program asks for events writes its
position every few seconds: one second for each reader, and one more. So it is watched first.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from aiopravega.control import Controller
from aiopravega.errors import ConfigurationError, ReaderGroupError, ReadersOnlineError
from aiopravega.groups.changes import changes_event, remove_reader
from aiopravega.groups.log import GroupLog
from aiopravega.groups.state import GroupState
from aiopravega.names import SegmentId
from aiopravega.store import SegmentStore

_POLL_SECONDS: Final = 0.5
# A living reader writes within half of the time, if its program asks for events.
_ROUNDS: Final = 2


def least_watch(state: GroupState) -> float:
    """The seconds for which a reader must be silent before it is certainly dead."""
    return _ROUNDS * (len(state.assigned) + 1 + state.config.refresh.total_seconds())


async def reader_offline(
    controller: Controller,
    store: SegmentStore,
    scope: str,
    group: str,
    reader: str,
    watch: float | None,
    *,
    force: bool,
) -> Mapping[SegmentId, int]:
    """See `GroupCalls.reader_offline`."""
    what = f"take reader {reader!r} out of reader group {scope}/{group}"
    log = await GroupLog.open(controller, store, scope, group)
    state = _check(log, reader, what)
    if watch is not None and watch < least_watch(state) and not force:
        raise ConfigurationError(
            f"cannot {what}: it is not clear within {watch:g} s that it is dead; one that is alive may be silent for "
            f"{least_watch(state):g} s. Watch it for longer"
        )
    heard, ends = state.heard.get(reader, 0), time.monotonic() + (least_watch(state) if watch is None else watch)
    while True:
        if state.heard.get(reader, 0) != heard and not force:
            raise ReadersOnlineError(
                f"cannot {what}: it is alive, it has just written to the group's state. Stop it, and it leaves by "
                "itself; forced out, it gets Java's ReinitializationRequiredException",
                frozenset([reader]),
            )
        if force or time.monotonic() >= ends:
            freed = dict(state.assigned[reader])
            if await log.append(changes_event([remove_reader(reader)])):
                return freed
        else:
            await asyncio.sleep(_POLL_SECONDS)
            await log.refresh()
        state = _check(log, reader, what)


def _check(log: GroupLog, reader: str, what: str) -> GroupState:
    if log.state is None:
        raise ReaderGroupError(f"cannot {what}: the group has no state, so no readers")
    if reader not in log.state.assigned:
        readers = ", ".join(map(repr, sorted(log.state.assigned))) or "none"
        raise ReaderGroupError(f"cannot {what}: it is not in the group, or has left it. Its readers are: {readers}")
    return log.state
