"""Checkpoints that another program than the readers begins: all readers report their positions, without waiting.

A reader reports at the second request for an event after it; its program sees the checkpoint between its events.
Flink's readers accept only checkpoints that Flink began.
"""

import asyncio
import uuid
from typing import Final

from aiopravega.control import Controller
from aiopravega.errors import CheckpointError, ReaderGroupError
from aiopravega.groups.changes import begin_checkpoint, changes_event, forget_checkpoints_before
from aiopravega.groups.cut_bytes import JavaCheckpoint
from aiopravega.groups.log import GroupLog
from aiopravega.groups.state import Checkpoints, cuts_of
from aiopravega.store import SegmentStore

# As often as Java asks.
_POLL_SECONDS: Final = 0.5
# The names of Flink's checkpoints begin with this; its readers fail at any other name.
_OF_FLINK: Final = "PVG-CHK-"


async def checkpoint(
    controller: Controller,
    store: SegmentStore,
    scope: str,
    group: str,
    name: str | None,
    timeout: float,
    *,
    force: bool,
) -> JavaCheckpoint:
    """See `GroupCalls.checkpoint_reader_group`."""
    named = name or f"aiopravega-{uuid.uuid4()}"
    what = f"make a checkpoint of reader group {scope}/{group}"
    log = await GroupLog.open(controller, store, scope, group)
    while True:
        if log.state is None:
            raise ReaderGroupError(f"cannot {what}: it has no state, so no readers")
        _check(log.state.checkpoints, named, log.state.config.outstanding_checkpoints, what, force=force)
        if await log.append(changes_event([begin_checkpoint(named)])):
            break
    try:
        async with asyncio.timeout(timeout):
            while named in log.state.checkpoints.waiting:
                await asyncio.sleep(_POLL_SECONDS)
                await log.refresh()
    except TimeoutError as error:
        waiting = ", ".join(map(repr, log.state.checkpoints.waiting.get(named, ())))
        raise CheckpointError(
            f"cannot {what} within {timeout:g} s: readers {waiting} have not reached {named!r}. Are they alive, and do "
            "they ask for events? It may still become complete"
        ) from error
    offsets = log.state.checkpoints.offsets.get(named)
    if offsets is None:
        raise CheckpointError(f"cannot {what}: {named!r} was dropped by a later one, or by a reset of the group")
    while not await log.append(changes_event([forget_checkpoints_before(named)])):
        pass
    return JavaCheckpoint(named, cuts_of(offsets))


def _check(checkpoints: Checkpoints, name: str, limit: int, what: str, *, force: bool) -> None:
    if name in checkpoints.offsets:
        raise CheckpointError(f"cannot {what}: there is one of the name {name!r}. Choose another one")
    if len(checkpoints.outstanding) >= limit:
        raise CheckpointError(
            f"cannot {what}: {', '.join(map(repr, checkpoints.outstanding))} are under way; the limit is {limit}"
        )
    if not force and any(each.startswith(_OF_FLINK) for each in checkpoints.names):
        raise CheckpointError(
            f"cannot {what}: Flink makes its checkpoints, and its readers fail at one that Flink has not begun. Have "
            "Flink make one; force it if the Flink job has ended"
        )
