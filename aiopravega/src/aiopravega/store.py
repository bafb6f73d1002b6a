"""Requests to segment stores: finds the store that owns a segment, sends a valid token, repeats failed requests.

All single requests about a segment (reads, infos, tables, the set-up of an append) go through this module: it alone
handles a segment that moves, a store that restarts and a token that expires. It knows neither events nor the structure
of streams.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from aiopravega import wire
from aiopravega.config import PravegaConfig
from aiopravega.control import Access, Controller
from aiopravega.errors import PravegaConnectionError, ProtocolError, SegmentNotFoundError, TokenExpiredError
from aiopravega.names import SegmentId, StreamName
from aiopravega.net import Connection, ConnectionPool, Endpoint, renewal_time
from aiopravega.retry import RetryPolicy, retrying

R = TypeVar("R", bound=wire.Reply)

# Without an expiry in the token we ask again after the server's default lifetime, less a margin.
_TOKEN_LIFETIME = 600.0
_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """State of one segment. Offsets are in bytes; `start_offset` is the head, `write_offset` the tail.

    `changed_at` is the last change by the segment store's clock. The store updates it only from time to time.
    """

    segment: str
    sealed: bool
    start_offset: int
    write_offset: int
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    renew_at: float


class SegmentStore:
    """Access to all segment stores of a cluster, over shared connections."""

    def __init__(self, config: PravegaConfig, controller: Controller) -> None:
        self._config = config
        self._controller = controller
        self._pool = ConnectionPool(config.ssl_context(), config.connect_timeout)
        self._endpoints: dict[SegmentId, Endpoint] = {}
        self._tokens: dict[tuple[StreamName, Access], _Token] = {}
        self.retry_policy = RetryPolicy(total=config.retry_timeout)
        self.request_timeout = config.request_timeout
        self.max_event_bytes = config.max_event_bytes

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def endpoint(self, segment: SegmentId) -> Endpoint:
        """The segment store that owns `segment`, asked once and remembered until `forget`."""
        known = self._endpoints.get(segment)
        if known is None:
            known = self._endpoints[segment] = await self._controller.endpoint(segment)
        return known

    async def token(self, stream: StreamName, access: Access) -> str:
        """A delegation token that is valid for a while; empty where the cluster is used without credentials."""
        if not self._config.has_credentials:
            return ""
        known = self._tokens.get((stream, access))
        if known is None or time.time() >= known.renew_at:
            text = await self._controller.delegation_token(stream, access)
            now = time.time()
            known = self._tokens[stream, access] = _Token(text, renewal_time(text, now, now + _TOKEN_LIFETIME))
        return known.text

    def forget(self, segment: SegmentId, access: Access) -> None:
        """Ask again where `segment` is and for its token: one of them is stale."""
        self._endpoints.pop(segment, None)
        self._tokens.pop((segment.stream, access), None)

    async def locate(self, segment: SegmentId, *, again: bool = False) -> tuple[Endpoint, str]:
        """The owner of a segment and a token to read it; `again` after either has turned out to be stale."""
        if again:
            self.forget(segment, Access.READ)
        return await self.endpoint(segment), await self.token(segment.stream, Access.READ)

    async def connection(self, segment: SegmentId) -> Connection:
        """A shared connection to the owner of `segment`."""
        return await self._pool.get(await self.endpoint(segment))

    async def request_once(
        self,
        segment: SegmentId,
        access: Access,
        make: Callable[[int, str], wire.Request],
        expected: type[R],
        timeout: float | None = None,
    ) -> tuple[R, Connection]:
        """Send `make(request id, token)` to the owner of `segment`; returns the answer and where it came from.

        Raises:
            PravegaError: what the server answered instead, or why it could not be asked.
        """
        try:
            connection = await self.connection(segment)
            command = make(connection.next_request_id(), await self.token(segment.stream, access))
            reply = await connection.request(command, timeout or self._config.request_timeout)
            error = wire.error_for(reply, str(segment))
            if error is not None:
                raise error
        except (PravegaConnectionError, TokenExpiredError):
            # Moved, restarted, or closed because of an expired token: the client cannot see which.
            self.forget(segment, access)
            raise
        if not isinstance(reply, expected):
            raise ProtocolError(f"{segment}: expected {expected.__name__}, but the server answered {reply!r:.200}")
        return reply, connection

    async def request(
        self,
        segment: SegmentId,
        access: Access,
        make: Callable[[int, str], wire.Request],
        expected: type[R],
        timeout: float | None = None,
    ) -> R:
        """Like `request_once`, but repeats after failures that can pass; only for requests that may be repeated."""

        async def attempt() -> R:
            reply, _ = await self.request_once(segment, access, make, expected, timeout)
            return reply

        return await retrying(attempt, self.retry_policy, f"request about {segment}")

    async def info(self, segment: SegmentId) -> SegmentInfo:
        """Head, tail and state of a segment.

        Raises:
            SegmentNotFoundError: it does not exist, or was truncated as a whole.
        """
        reply = await self._info(segment, str(segment))
        changed = datetime.fromtimestamp(reply.last_modified / _MILLISECONDS, UTC)
        return SegmentInfo(str(segment), reply.is_sealed, reply.start_offset, reply.write_offset, changed)

    async def changed_at(self, segment: SegmentId, name: str) -> datetime:
        """The time at which the segment with the wire name `name`, in the same store as `segment`, was made or changed.

        It is the last change, by the segment store's clock. The store updates it only from time to time.

        Raises:
            SegmentNotFoundError: it does not exist.
        """
        reply = await self._info(segment, name)
        return datetime.fromtimestamp(reply.last_modified / _MILLISECONDS, UTC)

    async def _info(self, segment: SegmentId, name: str) -> wire.StreamSegmentInfo:
        reply = await self.request(
            segment,
            Access.READ,
            lambda request_id, token: wire.GetStreamSegmentInfo(request_id, name, token),
            wire.StreamSegmentInfo,
        )
        if not reply.exists or reply.is_deleted:
            raise SegmentNotFoundError(f"{name} does not exist")
        return reply

    async def made_at(self, segment: SegmentId) -> datetime | None:
        """The time at which a segment was made, by the clock of its segment store; None: the store has not kept it.

        Raises:
            SegmentNotFoundError: it does not exist, or was truncated as a whole.
        """
        made = await self.attribute(segment, wire.CREATION_TIME)
        return None if made is None else datetime.fromtimestamp(made / _MILLISECONDS, UTC)

    async def attribute(self, segment: SegmentId, attribute: UUID, access: Access = Access.READ) -> int | None:
        """A number that the segment store keeps of a segment; None: it has none of this id.

        Raises:
            SegmentNotFoundError: the segment does not exist, or was truncated as a whole.
        """
        reply = await self.request(
            segment,
            access,
            lambda request_id, token: wire.GetSegmentAttribute(request_id, str(segment), attribute, token),
            wire.SegmentAttribute,
        )
        return None if reply.value == wire.NO_VALUE else reply.value

    async def set_attribute(self, segment: SegmentId, attribute: UUID, value: int, before: int | None) -> None:
        """Set such a number, which must be `before`; None: there must be none.

        Raises:
            AlreadyExistsError: it has another value, which may be `value` by an earlier try whose answer was lost.
            SegmentNotFoundError: the segment does not exist.
            SegmentSealedError: it is sealed.
        """
        expected = wire.NO_VALUE if before is None else before
        await self.request(
            segment,
            Access.WRITE,
            lambda request_id, token: wire.UpdateSegmentAttribute(
                request_id, str(segment), attribute, value, expected, token
            ),
            wire.SegmentAttributeUpdated,
        )
