"""One client for all triggers of an event loop that reach the same cluster with the same credentials.

A triggerer runs thousands of triggers on one loop; each with connections of its own would exhaust the servers. A
client is opened for the first user and closed after the last one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from aiopravega import PravegaClient, PravegaConfig


@dataclass(slots=True)
class _Shared:
    opening: asyncio.Task[PravegaClient]
    users: int = 0


# By event loop, because a client belongs to the loop that opened it.
_shared: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[PravegaConfig, _Shared]]] = WeakKeyDictionary()


async def _open(config: PravegaConfig) -> PravegaClient:
    return await PravegaClient(config).__aenter__()


@asynccontextmanager
async def shared_client(config: PravegaConfig) -> AsyncIterator[PravegaClient]:
    """The client of this event loop for `config`, open for as long as the block runs.

    Raises:
        PravegaError: the cluster cannot be reached; all users that waited for this client get the same error.
    """
    clients = _shared.setdefault(asyncio.get_running_loop(), {})
    shared = clients.get(config)
    if shared is None:
        shared = clients[config] = _Shared(asyncio.create_task(_open(config)))
    shared.users += 1
    try:
        # A user that is cancelled must not take the connection from the others.
        yield await asyncio.shield(shared.opening)
    finally:
        shared.users -= 1
        if shared.users == 0:
            if clients.get(config) is shared:
                del clients[config]
            await _close(shared.opening)


async def _close(opening: asyncio.Task[PravegaClient]) -> None:
    if not opening.done():
        opening.cancel()
        await asyncio.wait([opening])
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().close()
