"""The controller's calls about the segments of streams: which there are, what follows what, where they are."""

from collections.abc import Mapping

from aiopravega.control.convert import key_ranges, positions, segment_id, stream_info
from aiopravega.control.model import Access, KeyRange, Successor
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import succeeded
from aiopravega.errors import InvalidStreamCutError, SegmentNotFoundError
from aiopravega.names import SegmentId, StreamName
from aiopravega.net.endpoint import Endpoint


class SegmentCalls:
    """Part of `Controller`. All lists come in the order of the key space, unless said otherwise."""

    _rpc: Rpc

    async def current_segments(self, stream: StreamName) -> list[KeyRange]:
        """The segments that take events now; none if the stream is sealed.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        answer = await self._rpc.call(
            "getCurrentSegments", stream_info(stream), pb.SegmentRanges, f"list the segments of stream {stream}"
        )
        return key_ranges(stream, answer.segmentRanges)

    async def epoch_segments(self, stream: StreamName, epoch: int) -> list[KeyRange]:
        """The segments of an epoch, past or current. Needs the right to write (Pravega's `getEpochSegments`).

        Raises:
            StreamNotFoundError: the stream or the epoch does not exist.
        """
        answer = await self._rpc.call(
            "getEpochSegments",
            pb.GetEpochSegmentsRequest(streamInfo=stream_info(stream), epoch=epoch),
            pb.SegmentRanges,
            f"list the segments of epoch {epoch} of stream {stream}",
        )
        return key_ranges(stream, answer.segmentRanges)

    async def first_segment(self, stream: StreamName) -> SegmentId:
        """The segment with the lowest number that the stream ever had.

        Numbers continue when a stream is deleted and made again: so this number distinguishes it from all other streams
        that had its name. Needs the right to write, as `epoch_segments` does.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        return min((entry.segment for entry in await self.epoch_segments(stream, 0)), key=lambda one: one.number)

    async def head_segments(self, stream: StreamName) -> dict[SegmentId, int]:
        """The first offset, in bytes, that can still be read, for each segment at the head of the stream.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        answer = await self._rpc.call(
            "getSegments",
            pb.GetSegmentsRequest(streamInfo=stream_info(stream), timestamp=0),
            pb.SegmentsAtTime,
            f"find the head of stream {stream}",
        )
        head = {SegmentId.from_int(stream, entry.segmentId.segmentId): entry.offset for entry in answer.segments}
        return dict(sorted(head.items()))

    async def segments_between(
        self, stream: StreamName, start: Mapping[SegmentId, int], end: Mapping[SegmentId, int]
    ) -> list[SegmentId]:
        """All segments between two cuts, by epoch and number; segments of the cuts and truncated ones are included.

        Raises:
            InvalidStreamCutError: a cut is empty.
        """
        what = f"list the segments between two cuts of stream {stream}"
        if not start or not end:  # the controller would fail inside
            raise InvalidStreamCutError(f"cannot {what}: a cut has no positions")
        answer = await self._rpc.call(
            "getSegmentsBetween",
            pb.StreamCutRange(streamInfo=stream_info(stream), **{"from": positions(start)}, to=positions(end)),
            pb.StreamCutRangeResponse,
            what,
        )
        segments = {SegmentId.from_int(stream, entry.segmentId) for entry in answer.segments}
        return sorted(segments, key=lambda segment: (segment.epoch, segment.number))

    async def check_cut(self, stream: StreamName, cut: Mapping[SegmentId, int]) -> None:
        """Check that the segments of a cut belong to the stream and cover its key space; offsets are not checked.

        Raises:
            InvalidStreamCutError: they are not, or do not.
            StreamNotFoundError: the stream does not exist.
        """
        what = f"use a cut of segments {', '.join(f'{s.number}.#epoch.{s.epoch}' for s in cut)} of stream {stream}"
        answer = await self._rpc.call(
            "isStreamCutValid",
            pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut)),
            pb.StreamCutValidityResponse,
            what,
        )
        if not answer.response:
            raise InvalidStreamCutError(f"cannot {what}: they do not cover the key space once")

    async def successors(self, segment: SegmentId) -> list[Successor]:
        """The segments that replaced `segment`; none if it still takes events, or was the last of its stream.

        Raises:
            SegmentNotFoundError: the segment or the stream does not exist.
        """
        answer = await self._rpc.call(
            "getSegmentsImmediatelyFollowing",
            segment_id(segment),
            pb.SuccessorResponse,
            f"find the successors of segment {segment}",
            missing=SegmentNotFoundError,
        )
        successors = [
            Successor(
                SegmentId.from_int(segment.stream, entry.segment.segmentId.segmentId),
                entry.segment.minKey,
                entry.segment.maxKey,
                tuple(SegmentId.from_int(segment.stream, value) for value in entry.value),
            )
            for entry in answer.segments
        ]
        return sorted(successors, key=lambda successor: successor.low)

    async def endpoint(self, segment: SegmentId) -> Endpoint:
        """The segment store that serves a segment of a stream or table. Says nothing about whether it exists."""
        answer = await self._rpc.call(
            "getURI",
            segment_id(segment),
            pb.NodeUri,
            f"find the segment store of segment {segment}",
            missing=SegmentNotFoundError,
        )
        return Endpoint(answer.endpoint.strip("[]"), answer.port)

    async def delegation_token(self, stream: StreamName, access: Access) -> str:
        """A token that lets a segment store grant `access` to the segments of a stream or table; empty without auth.

        Raises:
            PermissionDeniedError: the credentials do not have this right.
        """
        answer = await self._rpc.call(
            "getDelegationToken",
            stream_info(stream, access.value),
            pb.DelegationToken,
            f"get a token for {access.value} access to {stream}",
        )
        return answer.delegationToken

    async def note_time(self, stream: StreamName, writer_id: str, timestamp: int, cut: Mapping[SegmentId, int]) -> None:
        """Note how far a writer is in event time: the source of watermarks.

        An unknown segment in `cut` is accepted by Pravega, and then stops all watermarks of the stream.

        Raises:
            ConfigurationError: `timestamp` goes back.
            InvalidStreamCutError: `cut` goes back.
        """
        what = f"note time {timestamp} of writer {writer_id} of stream {stream}"
        answer = await self._rpc.call(
            "noteTimestampFromWriter",
            pb.TimestampFromWriter(
                writer=writer_id,
                position=pb.StreamCut(streamInfo=stream_info(stream), cut=positions(cut)),
                timestamp=timestamp,
            ),
            pb.TimestampResponse,
            what,
        )
        succeeded(pb.TimestampResponse.Status, answer.result, what)
