"""Scaling of a stream by hand: start it, and wait until it is done."""

import asyncio
import time
from collections.abc import Sequence

from aiopravega.control.convert import stream_info
from aiopravega.control.model import KeyRange
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.segments import SegmentCalls
from aiopravega.control.status import refusal, status_name
from aiopravega.errors import ConfigurationError, PravegaError, PravegaTimeoutError, ScalingError, StreamSealedError
from aiopravega.names import SegmentId, StreamName

# A scaling takes 0.1 to 0.4 s on an idle server.
_FIRST_POLL = 0.05
_LONGEST_POLL = 1.0
_SECOND = 1000  # milliseconds


class ScalingCalls(SegmentCalls):
    """Part of `Controller`."""

    async def scale(
        self,
        stream: StreamName,
        sealed: Sequence[SegmentId],
        new_ranges: Sequence[tuple[float, float]],
        timeout: float,
    ) -> None:
        """Replace some current segments by new ones with these parts [low, high) of the key space.

        Raises:
            ScalingError: a segment is not current, the new parts do not cover exactly the sealed segments, or the
                stream's policy asks for more segments.
            PravegaTimeoutError: it has begun, but is not done within `timeout` seconds; it continues all the same.
            StreamNotFoundError: the stream does not exist.
            StreamSealedError: it is sealed.
        """
        what = f"scale stream {stream}"
        if not sealed or not new_ranges:
            raise ConfigurationError(f"cannot {what}: name the segments to replace, and the ranges of the new ones")
        answer = await self._rpc.call(
            "scale",
            pb.ScaleRequest(
                streamInfo=stream_info(stream),
                sealedSegments=[segment.to_int() for segment in sealed],
                newKeyRanges=[pb.ScaleRequest.KeyRangeEntry(start=low, end=high) for low, high in new_ranges],
                scaleTimestamp=int(time.time() * _SECOND),
            ),
            pb.ScaleResponse,
            what,
        )
        if answer.status == pb.ScaleResponse.STARTED:
            await self._scaled(stream, answer.epoch, timeout)
            return
        current = await self.current_segments(stream)
        if answer.status == pb.ScaleResponse.PRECONDITION_FAILED and _has_happened(current, sealed, new_ranges):
            return  # the answer to the first attempt was lost
        raise _scaling_error(answer, current, what, sealed, new_ranges)

    async def _scaled(self, stream: StreamName, epoch: int, timeout: float) -> None:
        """Wait until the scaling that replaces `epoch` is done."""
        what = f"scale stream {stream}"
        deadline = time.monotonic() + timeout
        pause = _FIRST_POLL
        while True:
            answer = await self._rpc.call(
                "checkScale",
                pb.ScaleStatusRequest(streamInfo=stream_info(stream), epoch=epoch),
                pb.ScaleStatusResponse,
                what,
            )
            if answer.status == pb.ScaleStatusResponse.SUCCESS:
                return
            if answer.status != pb.ScaleStatusResponse.IN_PROGRESS:
                raise refusal(status_name(pb.ScaleStatusResponse.ScaleStatus, answer.status), what)
            if time.monotonic() + pause > deadline:
                raise PravegaTimeoutError(f"scaling of stream {stream} is not done after {timeout:g} s, but continues")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_POLL)


def _has_happened(
    current: Sequence[KeyRange], sealed: Sequence[SegmentId], new_ranges: Sequence[tuple[float, float]]
) -> bool:
    """True if exactly this scaling has made current segments."""
    before = max(segment.epoch for segment in sealed)
    made = {(entry.low, entry.high) for entry in current if entry.segment.epoch > before}
    return made.issuperset(new_ranges)


def _scaling_error(
    answer: pb.ScaleResponse,
    current: Sequence[KeyRange],
    what: str,
    sealed: Sequence[SegmentId],
    new_ranges: Sequence[tuple[float, float]],
) -> PravegaError:
    if not current:
        return StreamSealedError(f"cannot {what}: the stream is sealed, so it cannot change any more")
    shown = ", ".join(f"{segment.number}.#epoch.{segment.epoch}" for segment in sealed)
    if answer.status != pb.ScaleResponse.PRECONDITION_FAILED:
        return ScalingError(
            f"cannot {what}: the controller refuses to replace {shown} by {list(new_ranges)}. The new ranges must "
            "cover exactly what the old segments own, without gap or overlap, and no other scaling may be under way."
        )
    if {entry.segment for entry in current}.issuperset(sealed):
        count = len(current) - len(sealed) + len(new_ranges)
        return ScalingError(
            f"cannot {what}: it would have {count} segments, fewer than its scaling policy allows. Update the stream "
            "with another policy first."
        )
    return ScalingError(f"cannot {what}: {shown} are not all current segments; another scaling may have come first")
