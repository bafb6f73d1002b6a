"""The controller's calls about streams as a whole, and about scopes and what they hold."""

import contextlib
from collections.abc import Mapping

from aiopravega.control.convert import positions, stream_config, stream_configuration, stream_info
from aiopravega.control.policies import StreamConfiguration
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc, all_pages
from aiopravega.control.status import succeeded
from aiopravega.errors import InvalidStreamCutError, PermissionDeniedError, ScopeNotFoundError
from aiopravega.names import INTERNAL_PREFIX, SegmentId, StreamName, group_of

# A scope that exists in every cluster, to ask for when any answer will do.
_ANY_SCOPE = "_system"


class StreamCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def create_stream(self, stream: StreamName, configuration: StreamConfiguration) -> bool:
        """Make a stream; returns False if it exists already, whatever its configuration.

        Raises:
            ScopeNotFoundError: its scope does not exist.
        """
        what = f"create stream {stream}"
        answer = await self._rpc.call("createStream", stream_config(stream, configuration), pb.CreateStreamStatus, what)
        return succeeded(pb.CreateStreamStatus.Status, answer.status, what, "STREAM_EXISTS")

    async def update_stream(self, stream: StreamName, configuration: StreamConfiguration) -> None:
        """Replace all settings of a stream.

        A fixed scaling policy takes effect at once: a stream with another number of segments is scaled, also one that
        was scaled by hand before. Other policies scale at once only a stream with fewer segments than their minimum.

        Raises:
            StreamNotFoundError: the stream does not exist.
            StreamSealedError: it is sealed.
        """
        what = f"update stream {stream}"
        answer = await self._rpc.call("updateStream", stream_config(stream, configuration), pb.UpdateStreamStatus, what)
        succeeded(pb.UpdateStreamStatus.Status, answer.status, what)

    async def stream_exists(self, stream: StreamName) -> bool:
        """True if the stream exists."""
        answer = await self._rpc.call(
            "checkStreamExists", stream_info(stream), pb.ExistsResponse, f"check whether stream {stream} exists"
        )
        return answer.exists

    async def stream_configuration(self, stream: StreamName) -> StreamConfiguration:
        """The settings of a stream.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        config = await self._rpc.call(
            "getStreamConfiguration", stream_info(stream), pb.StreamConfig, f"read the configuration of stream {stream}"
        )
        return stream_configuration(config)

    async def seal_stream(self, stream: StreamName) -> None:
        """End a stream: it can be read, but takes no more events. Safe to repeat.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        what = f"seal stream {stream}"
        answer = await self._rpc.call("sealStream", stream_info(stream), pb.UpdateStreamStatus, what)
        succeeded(pb.UpdateStreamStatus.Status, answer.status, what)

    async def delete_stream(self, stream: StreamName) -> bool:
        """Delete a sealed stream; returns False if there was none.

        Raises:
            StreamNotSealedError: it is not sealed.
        """
        what = f"delete stream {stream}"
        answer = await self._rpc.call("deleteStream", stream_info(stream), pb.DeleteStreamStatus, what)
        return succeeded(pb.DeleteStreamStatus.Status, answer.status, what, "STREAM_NOT_FOUND")

    async def truncate_stream(self, stream: StreamName, cut: Mapping[SegmentId, int]) -> None:
        """Remove all events before a cut forever.

        Pravega accepts offsets beyond the tail, and moves the head there: the caller must check them.

        Raises:
            StreamNotFoundError: the stream does not exist.
            StreamSealedError: it is sealed.
            InvalidStreamCutError: the cut lies before the head, does not cover the key space, or is not of this stream.
        """
        what = f"truncate stream {stream}"
        answer = await self._rpc.call(
            "truncateStream",
            pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut)),
            pb.UpdateStreamStatus,
            what,
        )
        status = answer.status
        if status == pb.UpdateStreamStatus.STREAM_NOT_FOUND and await self.stream_exists(stream):
            status = pb.UpdateStreamStatus.FAILURE  # the missing thing is an epoch of the cut
        if status == pb.UpdateStreamStatus.FAILURE:
            shown = ", ".join(f"{segment.number}.#epoch.{segment.epoch}: {offset}" for segment, offset in cut.items())
            raise InvalidStreamCutError(
                f"cannot {what} at {{{shown}}}: the controller refuses this cut. It must not lie before the head, and "
                "its segments must be the stream's and cover the whole key space."
            )
        succeeded(pb.UpdateStreamStatus.Status, answer.status, what)


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
