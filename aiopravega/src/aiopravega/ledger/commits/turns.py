"""Turns of the writes to one stream: one at a time commits, so that between its two cuts are its own events only.

A turn is an entry of the ledger's table. It is a courtesy, not a lock on which anything depends: a holder that died is
outlived, nobody waits for long, and a write that cannot have the turn is done without it. Then others may have written
between its cuts. Its record shows that, and who reads the range by it is refused (`MixedRangeError`).

The entry looks like one of a pending write whose attempt nobody has made: older releases pass over it, and remove it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from aiopravega.errors import PravegaError, TableConflictError
from aiopravega.ledger.commits.pending import TURN, entry_key, entry_value
from aiopravega.names import StreamName
from aiopravega.tables import KeyValueTable

logger = logging.getLogger(__name__)

# A holder is taken for dead after so many seconds without a change; a commit takes less than one.
_LEASE: Final = 10.0
# The longest wait for the turn, in seconds: the leases of the transactions run meanwhile.
_PATIENCE: Final = 60.0
# The pause before the turn is asked for again: it grows from the first to the last.
_PAUSE: Final = 0.05
_GROWTH: Final = 1.5
_LONGEST_PAUSE: Final = 0.2


class Turns:
    """The turns of the writes that a ledger's table remembers."""

    def __init__(self, table: KeyValueTable) -> None:
        self._table = table

    @asynccontextmanager
    async def take(self, sink: StreamName, write_id: str) -> AsyncIterator["Turn"]:
        """Wait for the turn of a stream, for `async with`, and give it back; it never fails."""
        key = entry_key(sink, TURN)
        try:
            version = await self._wait(key, sink, write_id)
        except PravegaError as error:
            logger.info("write %r to %s is done out of turn: %s", write_id, sink, error)
            version = None
        turn = Turn(self._table, key, version, f"write {write_id!r} to {sink}")
        try:
            yield turn
        finally:
            await turn.give_back()

    @asynccontextmanager
    async def take_all(self, sinks: Iterable[StreamName], write_id: str) -> AsyncIterator[list["Turn"]]:
        """The same for several streams, in their order: two writes that need the same never wait for each other."""
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.take(sink, write_id)) for sink in sinks]

    async def _wait(self, key: bytes, sink: StreamName, write_id: str) -> int | None:
        """Take the turn; returns the version of its entry. None: the patience is over."""
        clock, pause = asyncio.get_running_loop().time, _PAUSE
        began = since = clock()
        held: int | None = None
        found = None  # nobody has the turn, as far as is known: most writes ask once
        while clock() - began < _PATIENCE:
            try:
                value = entry_value(sink, write_id, sink)
                if found is None:
                    return await self._table.put_if_absent(key, value)
                if clock() - since > _LEASE:
                    return await self._table.replace(key, value, found.version)
            except TableConflictError:
                pass  # another write was first
            else:
                await asyncio.sleep(pause)
                pause = min(pause * _GROWTH, _LONGEST_PAUSE)
            found = await self._table.get(key)
            if found is not None and found.version != held:
                held, since = found.version, clock()
        logger.warning(
            "write %r to %s has waited %g s for other writes, and is done out of turn", write_id, sink, _PATIENCE
        )
        return None


class Turn:
    """The turn of a write; `version` is that of its entry, None: the write is done without it."""

    def __init__(self, table: KeyValueTable, key: bytes, version: int | None, name: str) -> None:
        self._table = table
        self._key = key
        self._version = version
        self._name = name

    async def give_back(self) -> None:
        """Give it back, if that was not done; it never fails."""
        version, self._version = self._version, None
        if version is None:
            return
        try:
            await self._table.remove(self._key, version)
        except TableConflictError:
            logger.info("%s took so long that another write has taken the turn", self._name)
        except PravegaError as error:
            logger.info("the turn of %s is left to its lease: %s", self._name, error)
