"""The controller's calls about scopes and what they hold."""

import contextlib

from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import refusal
from aiopravega.errors import PermissionDeniedError, ScopeNotFoundError
from aiopravega.names import INTERNAL_PREFIX, StreamName

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
        status = pb.CreateScopeStatus.Status.Name(answer.status)
        if status not in ("SUCCESS", "SCOPE_EXISTS"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def delete_scope(self, scope: str) -> bool:
        """Delete an empty scope; returns False if there was none.

        Raises:
            ScopeNotEmptyError: it holds streams, tables or reader groups.
        """
        what = f"delete scope {scope}"
        answer = await self._rpc.call("deleteScope", pb.ScopeInfo(scope=scope), pb.DeleteScopeStatus, what)
        status = pb.DeleteScopeStatus.Status.Name(answer.status)
        if status not in ("SUCCESS", "SCOPE_NOT_FOUND"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def scope_exists(self, scope: str) -> bool:
        """Whether there is such a scope."""
        answer = await self._rpc.call(
            "checkScopeExists", pb.ScopeInfo(scope=scope), pb.ExistsResponse, f"look for scope {scope}"
        )
        return answer.exists

    async def list_scopes(self) -> list[str]:
        """The names of all scopes that the credentials may see, sorted; Pravega's internal ones are left out."""
        found: list[str] = []
        token = ""
        while True:
            page = await self._rpc.call(
                "listScopes",
                pb.ScopesRequest(continuationToken=pb.ContinuationToken(token=token)),
                pb.ScopesResponse,
                "list scopes",
            )
            found.extend(name for name in page.scopes if not name.startswith(INTERNAL_PREFIX))
            if not page.scopes or page.continuationToken.token == token:
                return sorted(found)
            token = page.continuationToken.token

    async def list_streams(self, scope: str, tag: str | None = None) -> list[StreamName]:
        """The streams of a scope, or those with a tag, sorted; Pravega's internal streams are left out.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        what = f"list the streams of scope {scope}"
        found: set[StreamName] = set()
        token = pb.ContinuationToken()
        info = pb.ScopeInfo(scope=scope)
        while True:
            request: pb.StreamsInScopeRequest | pb.StreamsInScopeWithTagRequest
            if tag is None:
                method = "listStreamsInScope"
                request = pb.StreamsInScopeRequest(scope=info, continuationToken=token)
            else:
                method = "listStreamsInScopeForTag"
                request = pb.StreamsInScopeWithTagRequest(scope=info, tag=tag, continuationToken=token)
            page = await self._rpc.call(method, request, pb.StreamsInScopeResponse, what, missing=ScopeNotFoundError)
            if page.status != pb.StreamsInScopeResponse.SUCCESS:
                raise refusal(pb.StreamsInScopeResponse.Status.Name(page.status), what)
            found.update(
                StreamName(info.scope, info.stream)
                for info in page.streams
                if not info.stream.startswith(INTERNAL_PREFIX)
            )
            if not page.continuationToken.token or page.continuationToken == token:
                return sorted(found)
            token = page.continuationToken
