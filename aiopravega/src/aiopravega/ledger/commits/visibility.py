"""Visibility of writes: is all of a write there for readers, in all of its streams?

A reader asks and waits. It commits nothing: the writer does that, the next writer to one of the streams, or the
maintenance.
"""

import asyncio
from typing import Final

from aiopravega.control import Controller, TransactionState
from aiopravega.errors import NotVisibleError
from aiopravega.ledger.commits.contents import CommitState
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.names import StreamName

# Between two questions, in seconds: each pause is twice the one before it.
_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
# The controller forgets transactions a day or two after they have ended.
_THERE: Final = frozenset({TransactionState.COMMITTED, TransactionState.UNKNOWN})


async def wait_visible(
    controller: Controller, table: CommitTable, stream: StreamName, write_id: str, generation: int | None, within: float
) -> CommitRecord:
    """The record of a write, when readers see all of it; see `PravegaClient.visible_write`.

    Raises:
        NotVisibleError: they do not, after `within` seconds.
        StreamNotFoundError: the stream does not exist.
        TableNotFoundError: the ledger does not exist.
    """
    clock, pause = asyncio.get_running_loop().time, _FIRST_PAUSE
    ends = clock() + within
    current = (await controller.first_segment(stream)).number
    while True:
        stored = await table.owner(stream, write_id)
        record = None if stored is None else stored.record
        if record is None or record.incarnations.get(stream) != current:
            why = "the ledger does not know the write"
        elif (record := _generation(record, generation)) is None:
            why = f"the ledger does not know generation {generation}"
        elif record.state is not CommitState.DONE:
            why = f"it is {record.state.value}: its writer, or the next one, completes it"
        elif record.waiting_tables:
            why = f"its rows are not in {' and '.join(record.waiting_tables)} yet: its job, run again, puts them there"
        else:
            waiting = await _waiting(controller, record)
            if not waiting:
                return record
            why = f"{waiting} of its {len(record.partitions)} commits are decided, and not visible yet"
        if clock() >= ends:
            raise NotVisibleError(f"write {write_id!r} to {stream} is not visible as a whole: {why}")
        await asyncio.sleep(min(pause, max(ends - clock(), 0.0)))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _generation(record: CommitRecord, number: int | None) -> CommitRecord | None:
    if number is None:
        return record
    return record.generations[number - 1] if 0 < number <= record.generation else None


async def _waiting(controller: Controller, record: CommitRecord) -> int:
    """The number of commits of a write that is done which readers do not see yet."""
    if record.end is not None:  # its writer has waited until all was visible
        return 0
    states = await TransactionSet.of(controller, record.sink, record.partitions).states()
    return sum(state not in _THERE for state in states.values())
