"""Noting how far a writer is in event time: the controller makes a stream's watermarks from such notes.

A note is honest if the writer writes nothing older than its time any more, and nothing that it wrote lies after its
cut. Pravega takes any note. It answers SUCCESS to a note with a segment that the stream does not have, and then makes
no watermark for the stream any more. From a note that leaves out segments it makes watermarks that promise too much. So
each note is checked against the stream first.
"""

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.read.plan import Planner


class TimeNotes:
    """Notes times to the streams of a cluster."""

    def __init__(self, controller: Controller, planner: Planner, given_cuts: GivenCuts) -> None:
        self._controller = controller
        self._planner = planner
        self._given_cuts = given_cuts

    async def note(self, stream: StreamName, writer_id: str, time: int, cut: StreamCut | None) -> None:
        """Note that a writer writes nothing older than `time` after `cut`; None: after the tail as it is now.

        Raises:
            InvalidStreamCutError: the cut does not fit the stream, or lies before one that this writer has noted.
            StreamTruncatedError: the cut lies before the head.
            ConfigurationError: the time lies before one that this writer has noted, or the writer has no name.
            StreamNotFoundError: the stream does not exist.
        """
        if not writer_id:
            raise ConfigurationError(f"cannot note time {time} of stream {stream}: the writer needs a name")
        located = await (self._planner.tail(stream) if cut is None else self._given_cuts.located(stream, cut))
        await self._controller.note_time(stream, writer_id, time, located.positions)
