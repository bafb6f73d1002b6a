"""Scaling of a stream by hand: start it, and wait until it is done."""

import asyncio
import time
from collections.abc import Sequence

from aiopravega.control.convert import stream_info
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import refusal
from aiopravega.errors import PravegaTimeoutError, ScalingError
from aiopravega.names import SegmentId, StreamName

# A scaling takes 0.1 to 0.4 s on an idle server.
_FIRST_POLL = 0.05
_LONGEST_POLL = 1.0
_SECOND = 1000  # milliseconds


class ScalingCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def scale(
        self,
        stream: StreamName,
        sealed: Sequence[SegmentId],
        new_ranges: Sequence[tuple[float, float]],
        timeout: float,
    ) -> None:
        """Replace some current segments by new ones with these parts [low, high) of the key space.

        Raises:
            ScalingError: a segment is not current, or the new parts are not exactly those of the sealed segments.
            PravegaTimeoutError: it has begun, but is not done within `timeout` seconds; it goes on all the same.
            StreamNotFoundError: there is no such stream.
        """
        what = f"scale stream {stream}"
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
        if answer.status != pb.ScaleResponse.STARTED:
            raise _scaling_error(answer, what, sealed, new_ranges)
        await self._scaled(stream, answer.epoch, timeout)

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
                raise refusal(pb.ScaleStatusResponse.ScaleStatus.Name(answer.status), what)
            if time.monotonic() + pause > deadline:
                raise PravegaTimeoutError(f"scaling of stream {stream} is not done after {timeout:g} s, but goes on")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_POLL)


def _scaling_error(
    answer: pb.ScaleResponse, what: str, sealed: Sequence[SegmentId], new_ranges: Sequence[tuple[float, float]]
) -> ScalingError:
    shown = ", ".join(f"{segment.number}.#epoch.{segment.epoch}" for segment in sealed)
    if answer.status == pb.ScaleResponse.PRECONDITION_FAILED:
        return ScalingError(f"cannot {what}: {shown} are not all current segments; another scaling may have come first")
    return ScalingError(
        f"cannot {what}: the controller refuses to replace {shown} by {list(new_ranges)}. The new ranges must cover "
        "exactly what the old segments own, without gap or overlap."
    )
