"""Which of the streams that had a name one after the other a stream is."""

from aiopravega.control import Controller
from aiopravega.names import StreamName


async def incarnation(controller: Controller, stream: StreamName) -> int:
    """A number that no other stream of this name had: segment numbers continue when a stream is made again.

    It is the lowest number of a segment that the stream ever had.

    Raises:
        StreamNotFoundError: there is no such stream.
    """
    return min(entry.segment.number for entry in await controller.epoch_segments(stream, 0))
