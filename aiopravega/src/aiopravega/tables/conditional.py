"""Conditional updates: the table shows their outcome, not only the answer of the server.

An answer and the table may differ in three ways. An answer can be lost: then the next attempt meets the update of the
attempt before. A server checks conditions against updates that it has not stored yet: a read at once after such a
conflict still finds the entry as it was, and if the server cannot store that update, it never happened. And a server
that compacts a table moves entries: a read gives a moved entry the version that it had, but a condition has to name its
new position, which only the index shows, as a list of keys gives it (Pravega 0.13, after 4 MiB of updates).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aiopravega import wire
from aiopravega.errors import PravegaError, ServerError, TableConflictError
from aiopravega.retry import Retries, RetryPolicy

# An update without a condition.
ANY: Final = wire.KEY_ANY_VERSION
# The condition that the entry does not exist.
ABSENT: Final = wire.KEY_NOT_EXISTS


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A key with its value and version; a version changes with every update."""

    key: bytes
    value: bytes
    version: int


async def conditionally(
    attempt: Callable[[Mapping[bytes, int]], Awaitable[Sequence[int]]],
    read: Callable[[], Awaitable[Mapping[bytes, TableEntry]]],
    positions: Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, int]]],
    wanted: Mapping[bytes, tuple[bytes | None, int]],
    policy: RetryPolicy,
    what: str,
) -> Sequence[int]:
    """Repeat an update until its outcome is known; returns the new versions of the keys that are not removed.

    Args:
        attempt: sends the update, with the version that the index has to have of each key.
        read: the entries of the keys, as they are.
        positions: the versions that the index has of some keys.
        wanted: for each key its new value (None: to be removed), and the version that it must have.
        policy: for how long failures that can pass are tried again.
        what: names the update in errors and in the log.

    Raises:
        TableConflictError: another update was first, and the table shows it.
    """
    retries = Retries(policy, what)
    unanswered = False
    conditions = {key: version for key, (_, version) in wanted.items()}
    while True:
        try:
            return await attempt(conditions)
        except TableConflictError:
            # Before the read: an entry that then still has its version has been nothing but moved until there.
            index = await positions([key for key, version in conditions.items() if version not in (ANY, ABSENT)])
            found = await read()
            if unanswered and _done(found, wanted):
                return [found[key].version for key in wanted if key in found]
            if not _as_before(found, wanted):
                raise TableConflictError(f"{what}: another client has changed a key meanwhile") from None
            moved = {key: index.get(key, version) for key, version in conditions.items()}
            if moved != conditions:
                conditions = moved
                continue
            hidden = ServerError(f"{what}: another client is changing a key, which the table does not show yet")
            pause = retries.pause_after(hidden)
        except PravegaError as error:
            unanswered = True
            pause = retries.pause_after(error)
        await asyncio.sleep(pause)


def _done(found: Mapping[bytes, TableEntry], wanted: Mapping[bytes, tuple[bytes | None, int]]) -> bool:
    """True if the table shows the update."""
    return all((found[key].value if key in found else None) == value for key, (value, _) in wanted.items())


def _as_before(found: Mapping[bytes, TableEntry], wanted: Mapping[bytes, tuple[bytes | None, int]]) -> bool:
    """True if all keys have the version that they must have: then the other update of a conflict is not visible."""
    return all(
        version == ANY or (found[key].version if key in found else ABSENT) == version
        for key, (_, version) in wanted.items()
    )
