"""The client's calls about event time: a part of `aiopravega.client.PravegaClient`."""

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.event_time.notes import TimeNotes
from aiopravega.names import StreamName
from aiopravega.read.placing import Placer
from aiopravega.read.plan import Planner
from aiopravega.store import SegmentStore
from aiopravega.times import EventTime, TimeUnit


class TimeCalls:
    """Part of `PravegaClient`. `unit` says what a datetime is counted in; a number is taken as it is."""

    controller: Controller
    store: SegmentStore
    _planner: Planner

    async def note_time(
        self,
        scope: str,
        stream: str,
        writer_id: str,
        time: EventTime,
        cut: StreamCut | None = None,
        *,
        unit: TimeUnit = TimeUnit.MS,
    ) -> None:
        """Note that a writer writes nothing older than `time` behind `cut`; None: behind the tail as it is now.

        The stream's watermarks are made of it.

        Raises:
            InvalidStreamCutError: the cut does not fit the stream, or lies before one that this writer has noted.
            ConfigurationError: the time has no zone, or lies before one that this writer has noted.
        """
        notes = TimeNotes(self.controller, self._planner, Placer(self.controller, self.store, self._planner))
        await notes.note(StreamName(scope, stream), writer_id, unit.number(time), cut)
