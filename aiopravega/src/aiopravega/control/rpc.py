"""Calls to the controller: time limits, retries and errors, the same for all.

Calls are gRPC's blocking kind, started as futures and bridged into asyncio: gRPC's own asyncio support has one
poller per process, which breaks when several event loops run in it (facade threads, Airflow's triggerer).
This module knows no particular call.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import grpc

from aiopravega.config import PravegaConfig
from aiopravega.control.channel import open_channel, speaks_tls
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.status import CallSite, rpc_error, wrong_scheme
from aiopravega.errors import (
    AuthenticationError,
    NotFoundError,
    PravegaConnectionError,
    PravegaError,
    StreamNotFoundError,
)
from aiopravega.net.authorization import Authorization
from aiopravega.retry import RetryPolicy, retrying

if TYPE_CHECKING:
    from google.protobuf.message import Message

_SERVICE: Final = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/"
R = TypeVar("R", bound="Message")
P = TypeVar("P", bound="Page")


class Rpc:
    """A channel to one controller, made on the first call."""

    def __init__(self, config: PravegaConfig) -> None:
        self.config = config
        self._authorization = Authorization(config)
        self._policy = RetryPolicy(total=config.retry_timeout)
        self._channel: grpc.Channel | None = None
        self._closed = False
        self._lock = threading.Lock()

    async def call(
        self,
        method: str,
        request: "Message",
        answer: type[R],
        what: str,
        *,
        missing: type[NotFoundError] = StreamNotFoundError,
        patience: float | None = None,
    ) -> R:
        """Make a call that may be repeated, and repeat it after failures that can pass.

        Args:
            method: the name of the call in `controller.proto`.
            request: its argument.
            answer: the class of its result.
            what: completes "cannot …" in messages; names the thing.
            missing: the error for gRPC's NOT_FOUND.
            patience: seconds after which to give up, in all; otherwise the configuration says.

        Raises:
            PravegaError: see `aiopravega.control.status`.
        """
        timeout = self.config.request_timeout if patience is None else patience
        policy = self._policy if patience is None else RetryPolicy(total=patience)
        with contextlib.suppress(PravegaConnectionError):  # the attempts meet it again, and repeat
            await self._authorization.value()  # its time is not the controller's
        ends = inf if patience is None else time.monotonic() + patience
        site = CallSite(method, what, self.config.controller_uri, timeout, missing, self.config.refusal())
        return await retrying(lambda: self._attempt(request, answer, site, ends), policy, what)

    async def _attempt(self, request: "Message", answer: type[R], site: CallSite, ends: float) -> R:
        authorization = await self._authorization.value()
        try:
            return await self._send(request, answer, site, ends, authorization)
        except AuthenticationError:
            fresh = await self._authorization.replacement(authorization)
            if fresh is None:
                raise
        return await self._send(request, answer, site, ends, fresh)

    async def _send(
        self, request: "Message", answer: type[R], site: CallSite, ends: float, authorization: str | None
    ) -> R:
        channel = await self._open(site)
        invoke = channel.unary_unary(
            _SERVICE + site.method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        loop = asyncio.get_running_loop()
        finished = loop.create_future()

        def report(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and so have the waiting callers
                loop.call_soon_threadsafe(_wake, finished)

        timeout = min(site.timeout, ends - time.monotonic())
        metadata = () if authorization is None else (("authorization", authorization),)
        try:
            call: Any = invoke.future(request, timeout=timeout, metadata=metadata)
        except ValueError as error:  # another thread has just closed the channel
            raise _closed(site) from error
        call.add_done_callback(report)
        try:
            await finished
        except asyncio.CancelledError:
            call.cancel()
            raise
        code = call.code()
        if code is not grpc.StatusCode.OK:
            if code is grpc.StatusCode.UNAVAILABLE and not self.config.tls and await speaks_tls(self.config):
                raise wrong_scheme(site)
            raise rpc_error(code, call.details() or "", site)
        result: R = call.result()
        return result

    async def _open(self, site: CallSite) -> grpc.Channel:
        if self._channel is None and not self._closed:
            self._keep(await open_channel(self.config, site))
        channel = self._channel
        if channel is None:
            raise _closed(site)
        return channel

    def _keep(self, made: grpc.Channel) -> None:
        with self._lock:  # callers may come from several event loops at once
            if self._channel is None and not self._closed:
                self._channel = made
                return
        made.close()

    def close(self) -> None:
        """End all calls and the connection; safe to repeat."""
        with self._lock:
            channel, self._channel, self._closed = self._channel, None, True
        if channel is not None:
            channel.close()


def _wake(finished: "asyncio.Future[None]") -> None:
    if not finished.done():
        finished.set_result(None)


def _closed(site: CallSite) -> PravegaError:
    return PravegaError(f"cannot {site.what}: this client is closed. Make a new one.")


class Page(Protocol):
    """An answer that says where the next one continues."""

    @property
    def continuationToken(self) -> pb.ContinuationToken:  # noqa: N802 - the name in controller.proto
        """The beginning of the next page."""
        ...


async def all_pages(fetch: Callable[[pb.ContinuationToken], Awaitable[P]], size: Callable[[P], int]) -> list[P]:
    """Fetch pages until an empty one comes, which ends the list."""
    pages: list[P] = []
    token = pb.ContinuationToken()
    while True:
        page = await fetch(token)
        pages.append(page)
        if size(page) == 0 or page.continuationToken.token in ("", token.token):
            return pages
        token = page.continuationToken
