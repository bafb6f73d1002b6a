"""The controller's calls about streams as a whole."""

from collections.abc import Mapping

from aiopravega.control.convert import positions, stream_config, stream_configuration, stream_info
from aiopravega.control.policies import StreamConfiguration
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import succeeded
from aiopravega.errors import InvalidStreamCutError
from aiopravega.names import SegmentId, StreamName


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
