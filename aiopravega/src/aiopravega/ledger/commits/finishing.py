"""Finishing what drivers that died have decided and not committed, by the next process.

A decided write is finished in the same way by everybody, so it does no harm if its driver lives and does the same:
a commit that was asked for twice is one commit, and `done` is put once. How it is finished is `….protocol`'s.
"""

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Final

from aiopravega.bounded import each
from aiopravega.control import Controller
from aiopravega.errors import NotFoundError, PartialCommitError, PravegaError
from aiopravega.ledger.commits.commit_record import CommitState, StoredCommit
from aiopravega.ledger.commits.inspection import ADVICE, Inspection, Standing, inspect
from aiopravega.ledger.commits.pending import PendingWrite
from aiopravega.names import StreamName

if TYPE_CHECKING:
    from aiopravega.ledger.commits.commit_ledger import CommitLedger
    from aiopravega.ledger.commits.protocol import CommitProtocol

logger = logging.getLogger(__name__)

# How long a write may take for those of others, in seconds: its own rows matter more.
FINISH_WITHIN: Final = 15.0
# So many at a time, and so many at most by one write.
_AT_ONCE: Final = 4
_MOST: Final = 100
_NOTHING_MORE: Final = frozenset({Standing.DONE, Standing.GONE})


async def finish_stored(controller: Controller, protocol: "CommitProtocol", stored: StoredCommit) -> Inspection:
    """Finish a write that is decided, if that is possible; returns how it stands then.

    Of a write of which nothing is visible and something is lost, the rest is aborted.

    Raises:
        WriteSupersededError: another attempt has replaced the record meanwhile.
        PravegaTimeoutError: all is decided, but not visible in time.
    """
    found = await inspect(controller, stored)
    if found.standing in _NOTHING_MORE:
        return found
    try:
        record = await protocol.finish(stored)
    except PartialCommitError:
        record = None
    if record is None:
        return await inspect(controller, stored)
    return Inspection(StoredCommit(record, stored.version), Standing.DONE, found.states)


class PendingFinisher:
    """Finishes the pending writes of a stream, within a time; a failure of that is no failure of who does it."""

    def __init__(self, controller: Controller, ledger: "CommitLedger", protocol: "CommitProtocol") -> None:
        self._controller = controller
        self._ledger = ledger
        self._protocol = protocol

    async def finish(self, sink: StreamName, within: float) -> int:
        """Finish what is pending; returns how many writes were finished."""
        deadline = asyncio.get_running_loop().time() + within
        try:
            async with asyncio.timeout_at(deadline):
                pending = await self._ledger.pending.of(sink)
        except NotFoundError:  # no ledger, and so no writes
            return 0
        except (PravegaError, TimeoutError) as error:
            logger.warning("could not look for unfinished writes to %s: %s", sink, str(error) or f"{within:g} s passed")
            return 0
        some = random.sample(pending, min(len(pending), _MOST))

        async def one(write: PendingWrite) -> bool:
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._finish(write)
            except TimeoutError:
                logger.warning("%s is unfinished, and could not be finished within %g s", write.name, within)
            except PravegaError as error:
                logger.warning("%s is unfinished, and could not be finished: %s", write.name, error)
            return False

        return sum(await each(one, some, _AT_ONCE))

    async def _finish(self, write: PendingWrite) -> bool:
        stored = await self._ledger.stored(write.record)
        if stored is None or stored.record.attempt != write.attempt:
            return False  # not decided: its driver may be about to, and if it is dead, the entry goes when it is old
        if stored.record.state is CommitState.DONE:
            await self._ledger.pending.remove(write.sink, write.attempt)
            return False
        found = await finish_stored(self._controller, self._protocol, stored)
        if found.standing is Standing.DONE:
            logger.info("%s was decided by %s and is finished now", write.name, stored.record.by or "a driver")
            return True
        if found.standing is not Standing.UNFINISHED:
            # Only the same write again, or a person, can do more about it: others need not read it each time.
            await self._ledger.pending.remove(write.sink, write.attempt)
        if found.standing is not Standing.GONE:
            logger.warning(
                "%s was decided by %s and not finished in time: it is %s (transactions: %s). To do: %s",
                write.name,
                stored.record.by or "a driver",
                found.standing,
                ", ".join(f"{count} {state}" for state, count in sorted(found.counts.items())),
                ADVICE[found.standing],
            )
        return False
