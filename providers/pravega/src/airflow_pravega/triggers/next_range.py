"""The trigger of a sensor that waits for the next range of a chain: its turn, the end of the last one, the stream."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from airflow.triggers.base import TriggerEvent

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.intervals.chain import OnOpen, next_start, waited_for
from aiopravega.intervals.losses import OnTruncated
from aiopravega.intervals.moved import MoveCondition, StreamWatch
from aiopravega.intervals.tails import Tail
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from airflow_pravega.looks import Seen
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger
from airflow_pravega.turns import Turn, turn_in


class PravegaNextRangeTrigger(PravegaWaitingTrigger):
    """Fires once, when its run is the next one that waits and can have a range.

    The event is `{"status": "moved", "start": text, "end": text}`. If the last range is of a run that has not processed
    it, the event is `{"status": "late"}` at the deadline, and `{"status": "failed"}` if that run has failed and its
    range may be taken over. Of the runs that wait in one triggerer for the same chain, only the next one checks; those
    after it wait until it has taken its range.

    Args:
        stream: `scope/stream`.
        consumer: whose chain.
        interval: name of the run's interval.
        order: of the run among those that wait, as a text that sorts.
        min_bytes: bytes to wait for, event headers (8 bytes each) included.
        quiet_for: seconds for which nothing may have been written; they begin again where the triggerer starts again.
        sealed: whether to wait until the stream is sealed.
        on_open: what the sensor does about a range that is not processed.
        on_truncated: what the sensor does about what is gone.
        deadline: until when a range that is not processed is waited for, in ISO 8601 with its zone.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
    """

    def __init__(
        self,
        stream: str,
        consumer: str,
        interval: str,
        order: str,
        min_bytes: int,
        quiet_for: float,
        sealed: bool,
        on_open: str,
        on_truncated: str,
        deadline: str,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(stream, poll_interval, pravega_conn_id, carried)
        self.consumer = consumer
        self.interval = interval
        self.order = order
        self.min_bytes = min_bytes
        self.quiet_for = quiet_for
        self.sealed = sealed
        self.on_open = on_open
        self.on_truncated = on_truncated
        self.deadline = deadline
        self._watch = StreamWatch(MoveCondition(min_bytes, quiet_for, sealed))
        self._turn: Turn | None = None
        # Where the chain continues, as far as it was checked, and when that was: an older tail may lie before it.
        self._start: StreamCut | None = None
        self._start_at = 0.0

    def arguments(self) -> dict[str, Any]:
        """See `PravegaWaitingTrigger`."""
        return {
            "consumer": self.consumer,
            "interval": self.interval,
            "order": self.order,
            "min_bytes": self.min_bytes,
            "quiet_for": self.quiet_for,
            "sealed": self.sealed,
            "on_open": self.on_open,
            "on_truncated": self.on_truncated,
            "deadline": self.deadline,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait in the chain, and yield the one event."""
        with turn_in((self.pravega_conn_id, self.stream, self.consumer), self.order) as self._turn:
            async for event in super().run():
                yield event

    @property
    def checks_again(self) -> bool:
        """See `PravegaWaitingTrigger`: silence, the ledger and those before it change while the stream does not."""
        return self._start is None or self.quiet_for > 0

    async def check(self, client: PravegaClient, seen: Seen[Tail]) -> dict[str, Any] | None:
        """See `PravegaWaitingTrigger`."""
        turn = self._turn
        if turn is None or not turn.is_next:
            self._start = None
            return None
        if self._start is not None:
            is_older = seen.at < self._start_at
            if is_older or await self._watch.end_if_seen(client, self._start, seen.answer, seen.at) is None:
                return None  # the ledger need not be asked each time
        stream = StreamName.parse(self.stream)
        ledger, interval = client.cut_ledger(stream.scope), Interval(self.consumer, stream, self.interval)
        before = None if OnOpen(self.on_open) is OnOpen.SKIP else await waited_for(ledger, interval)
        if before is not None:
            self._start = None
            return await self._about(before, ledger, interval, turn)
        head = await client.head(stream.scope, stream.stream)
        begins = await next_start(client, ledger, interval, head, OnTruncated(self.on_truncated))
        self._start, self._start_at = begins.cut, time.monotonic()
        end = await self._watch.end_if_moved(client, begins.cut, check=False)
        if end is None:
            return None
        if not turn.take(begins.after and begins.after.version):
            self._start = None
            return None
        return {"status": "moved", "start": begins.cut.to_text(), "end": end.to_text()}

    async def _about(
        self, before: CutRecord, ledger: CutLedger, interval: Interval, turn: Turn
    ) -> dict[str, Any] | None:
        """The event about a range that is not processed, if its run is not to be waited for any longer."""
        if datetime.now(UTC) >= datetime.fromisoformat(self.deadline):
            return {"status": "late"}
        if OnOpen(self.on_open) is OnOpen.TAKE_OVER and before.state is IntervalState.FAILED:
            last = await ledger.last(interval)
            return {"status": "failed"} if turn.take(last and last.version) else None
        return None
