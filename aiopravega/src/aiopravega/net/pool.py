"""Shared connections: one per segment store, opened when first needed and replaced when lost."""

import asyncio
import ssl

from aiopravega.errors import PravegaError
from aiopravega.net.connection import Connection
from aiopravega.net.endpoint import Endpoint


class ConnectionPool:
    """Connections by endpoint. All callers of one endpoint share its connection."""

    def __init__(self, ssl_context: ssl.SSLContext | None, connect_timeout: float) -> None:
        self._ssl_context = ssl_context
        self._connect_timeout = connect_timeout
        self._opening: dict[Endpoint, asyncio.Task[Connection]] = {}
        self._closed = False

    async def get(self, endpoint: Endpoint) -> Connection:
        """An open connection; callers that ask at the same time wait for the same one.

        Raises:
            PravegaError: see `Connection.open`; or the pool is closed.
        """
        if self._closed:
            raise PravegaError(f"cannot connect to {endpoint}: this client is closed")
        opening = self._opening.get(endpoint)
        if opening is None or _is_over(opening):
            opening = asyncio.create_task(Connection.open(endpoint, self._ssl_context, self._connect_timeout))
            opening.add_done_callback(_is_over)  # takes the failure, even when nobody waits any more
            self._opening[endpoint] = opening
        # One caller that is cancelled must not take the connection from the others.
        return await asyncio.shield(opening)

    async def close(self) -> None:
        """Close all connections forever."""
        self._closed = True
        opening, self._opening = list(self._opening.values()), {}
        for task in opening:
            task.cancel()
        for connection in await asyncio.gather(*opening, return_exceptions=True):
            if isinstance(connection, Connection):
                await connection.close()


def _is_over(opening: asyncio.Task[Connection]) -> bool:
    """True if an attempt has failed, or its connection has ended since."""
    return opening.done() and (opening.cancelled() or opening.exception() is not None or opening.result().closed)
