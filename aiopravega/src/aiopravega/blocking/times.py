"""Blocking forms of the client's calls about event time."""

from aiopravega import client as asynchronous
from aiopravega.cuts import StreamCut
from aiopravega.loop import LoopThread
from aiopravega.times import EventTime, TimeUnit


class TimeCalls:
    """Part of the blocking `PravegaClient`; see `aiopravega.event_time.calls.TimeCalls`."""

    _loop: LoopThread
    _client: asynchronous.PravegaClient

    def note_time(
        self,
        scope: str,
        stream: str,
        writer_id: str,
        time: EventTime,
        cut: StreamCut | None = None,
        *,
        unit: TimeUnit = TimeUnit.MS,
    ) -> None:
        """Note that a writer writes nothing older than `time` behind `cut` (None: behind the tail)."""
        self._loop.run(self._client.note_time(scope, stream, writer_id, time, cut, unit=unit))
