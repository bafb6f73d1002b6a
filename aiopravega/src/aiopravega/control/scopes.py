"""The controller's calls about scopes and what they hold."""

import contextlib

from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc, all_pages
from aiopravega.control.status import succeeded
from aiopravega.errors import PermissionDeniedError, ScopeNotFoundError
from aiopravega.names import INTERNAL_PREFIX, StreamName, group_of

# A scope that exists in every cluster, to ask for when any answer will do.
_ANY_SCOPE = "_system"


class ScopeCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def ping(self) -> None:
        """Find out whether a controller answers and accepts the credentials, within the time limit to connect.

        Raises:
            PravegaConnectionError: none answers.
            TlsError: its certificate is not trusted, is for another name, or one side does not speak TLS.
            AuthenticationError: it does not accept the credentials.
        """
        scope = self._rpc.config.scope or _ANY_SCOPE
        with contextlib.suppress(PermissionDeniedError):  # then it knows who we are
            await self._rpc.call(
                "checkScopeExists",
                pb.ScopeInfo(scope=scope),
                pb.ExistsResponse,
                "connect to the controller",
                patience=self._rpc.config.connect_timeout,
            )

    async def create_scope(self, scope: str) -> bool:
        """Make a scope; returns False if it exists already."""
        what = f"create scope {scope}"
        answer = await self._rpc.call("createScope", pb.ScopeInfo(scope=scope), pb.CreateScopeStatus, what)
        return succeeded(pb.CreateScopeStatus.Status, answer.status, what, "SCOPE_EXISTS")

    async def delete_scope(self, scope: str) -> bool:
        """Delete an empty scope; returns False if there was none.

        Raises:
            ScopeNotEmptyError: it holds streams, tables or reader groups.
        """
        what = f"delete scope {scope}"
        answer = await self._rpc.call("deleteScope", pb.ScopeInfo(scope=scope), pb.DeleteScopeStatus, what)
        return succeeded(pb.DeleteScopeStatus.Status, answer.status, what, "SCOPE_NOT_FOUND")

    async def scope_exists(self, scope: str) -> bool:
        """True if the scope exists."""
        answer = await self._rpc.call(
            "checkScopeExists", pb.ScopeInfo(scope=scope), pb.ExistsResponse, f"check whether scope {scope} exists"
        )
        return answer.exists

    async def list_scopes(self) -> list[str]:
        """The names of all scopes that the credentials may see, sorted; Pravega's internal ones are left out."""
        pages = await all_pages(
            lambda token: self._rpc.call(
                "listScopes", pb.ScopesRequest(continuationToken=token), pb.ScopesResponse, "list scopes"
            ),
            lambda page: len(page.scopes),
        )
        return sorted({name for page in pages for name in page.scopes if not name.startswith(INTERNAL_PREFIX)})

    async def list_streams(self, scope: str, tag: str | None = None) -> list[StreamName]:
        """The streams of a scope, or those with a tag, sorted; Pravega's internal streams are left out.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        names = await self._stream_names(scope, tag)
        return sorted(StreamName(scope, name) for name in names if not name.startswith(INTERNAL_PREFIX))

    async def list_reader_groups(self, scope: str) -> list[str]:
        """The names of the reader groups of a scope, sorted; those that are only subscribers are among them.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        return sorted(group for name in await self._stream_names(scope) if (group := group_of(name)) is not None)

    async def _stream_names(self, scope: str, tag: str | None = None) -> set[str]:
        """The names of all streams of a scope, internal ones too, or of those with a tag."""
        what = f"list the streams of scope {scope}"
        info = pb.ScopeInfo(scope=scope)

        async def fetch(token: pb.ContinuationToken) -> pb.StreamsInScopeResponse:
            request: pb.StreamsInScopeRequest | pb.StreamsInScopeWithTagRequest
            if tag is None:
                method = "listStreamsInScope"
                request = pb.StreamsInScopeRequest(scope=info, continuationToken=token)
            else:
                method = "listStreamsInScopeForTag"
                request = pb.StreamsInScopeWithTagRequest(scope=info, tag=tag, continuationToken=token)
            page = await self._rpc.call(method, request, pb.StreamsInScopeResponse, what, missing=ScopeNotFoundError)
            succeeded(pb.StreamsInScopeResponse.Status, page.status, what)
            return page

        pages = await all_pages(fetch, lambda page: len(page.streams))
        return {info.stream for page in pages for info in page.streams}
