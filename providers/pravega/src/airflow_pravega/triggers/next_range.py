"""The trigger of a sensor that waits for the next range of a chain: its turn, the end of the last one, the stream."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from airflow.triggers.base import TriggerEvent

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_start import OnOpen, next_start, waited_for
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.tails import Tail
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from airflow_pravega.looks import Seen
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger
from airflow_pravega.turns import Turn, turn_in
from pravega_jobs.debezium.transactions import watch_of


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
        condition: what to wait for, as `MoveCondition.to_json` gives it.
            Silence begins again where the triggerer starts again.
        on_open: what the sensor does about a range that is not processed.
        on_truncated: what the sensor does about what is gone.
        deadline: until when a range that is not processed is waited for, in ISO 8601 with its zone.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = (
        "consumer",
        "interval",
        "order",
        "condition",
        "on_open",
        "on_truncated",
        "deadline",
    )

    def __init__(
        self,
        *,
        consumer: str,
        interval: str,
        order: str,
        condition: dict[str, Any],
        on_open: str,
        on_truncated: str,
        deadline: str,
        **waiting: Any,
    ) -> None:
        super().__init__(**waiting)
        self.consumer = consumer
        self.interval = interval
        self.order = order
        self.condition = condition
        self.on_open = on_open
        self.on_truncated = on_truncated
        self.deadline = deadline
        self._watch = watch_of(MoveCondition.from_json(condition))
        self._turn: Turn | None = None
        # Where the chain continues, as far as it was checked, and when that was: an older tail may lie before it.
        self._start: StreamCut | None = None
        self._start_at = 0.0

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait in the chain, and yield the one event."""
        with turn_in((self.pravega_conn_id, self.stream, self.consumer), self.order) as self._turn:
            async for event in super().run():
                yield event

    @property
    def checks_again(self) -> bool:
        """See `PravegaWaitingTrigger`: silence, marks, the ledger and other runs are not the stream."""
        return self._start is None or self._watch.condition.changes_by_itself

    async def check(self, client: PravegaClient, seen: Seen[Tail]) -> dict[str, Any] | None:
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
        does_wait = OnOpen(self.on_open) is not OnOpen.SKIP
        before = await waited_for(ledger, interval) if does_wait else None
        if before is not None:
            self._start = None
            return await self._about(before, ledger, interval, turn)
        head = await client.head(stream)
        begins = await next_start(client, ledger, interval, head, OnTruncated(self.on_truncated))
        if does_wait and begins.waits_for is not None:  # another run has taken a range since
            self._start = None
            return None
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
