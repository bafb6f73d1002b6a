"""The trigger of a sensor that waits for the next range of a chain: for its turn, the last range, and the stream."""

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
from aiopravega.ledger import ClaimantState, CutLedger, CutRecord, Interval, IntervalState
from airflow_pravega.polling import PollAnswer
from airflow_pravega.polling.turns import Turn, turn_in
from airflow_pravega.tasks.claimants import Judge, WaitLog
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger
from pravega_jobs.debezium.transactions import watch_of


class PravegaNextRangeTrigger(PravegaWaitingTrigger):
    """Fires once, when its run is the oldest one that waits and can have a range.

    The event is `{"status": "moved", "start": text, "end": text}`. If another run has taken the last range and not
    processed it, the event is `{"status": "late"}` at the deadline, and `{"status": "failed"}` as soon as that run has
    ended, which Airflow is asked for once a minute, or its range may be taken over. The log explains the wait each
    hour. Among the runs that wait in one triggerer for the same chain, the oldest one checks; the others wait until it
    has taken its range.

    Args:
        stream: `scope/stream`.
        consumer: the consumer whose chain it is.
        interval: name of the run's interval.
        order: position of the run among the runs that wait, as a text that sorts.
        condition: the conditions to wait for, as `MoveCondition.to_json` of
            `aiopravega.intervals.conditions.move_condition` gives them. Silence is counted from zero after the
            triggerer has started again.
        on_open: the sensor's rule for a range that is not processed.
        on_truncated: the sensor's rule for data that is gone.
        deadline: the end of waiting for a range that is not processed, in ISO 8601 with its zone.
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
        self._judge = Judge()
        self._wait_log = WaitLog(self.log, self.carried.get("said"))
        # The cut where the chain continues, and the time at which the ledger gave it: an older tail may lie before it.
        self._start: StreamCut | None = None
        self._start_at = 0.0

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait in the chain, and yield the one event."""
        with turn_in((self.pravega_conn_id, self.stream, self.consumer), self.order) as self._turn:
            async for event in super().run():
                yield event

    @property
    def checks_again(self) -> bool:
        """See `PravegaWaitingTrigger`: silence, watermarks, the ledger and other runs change without the stream."""
        return self._start is None or self._watch.condition.changes_by_itself

    async def check(self, client: PravegaClient, answer: PollAnswer[Tail]) -> dict[str, Any] | None:
        turn = self._turn
        if turn is None or not turn.is_next:
            self._start = None
            return None
        if self._start is not None:
            is_older = answer.asked_at < self._start_at
            if is_older or await self._watch.end_if_seen(client, self._start, answer.value, answer.asked_at) is None:
                return None  # without a request to the ledger
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
        if not turn.may_wake(begins.after and begins.after.version):
            self._start = None
            return None
        return {"status": "moved", "start": begins.cut.to_text(), "end": end.to_text()}

    async def _about(
        self, before: CutRecord, ledger: CutLedger, interval: Interval, turn: Turn
    ) -> dict[str, Any] | None:
        """The event about a range that is not processed; None as long as the trigger waits for its run."""
        if datetime.now(UTC) >= datetime.fromisoformat(self.deadline):
            return {"status": "late"}
        state = await self._judge(before)
        if self._wait_log.explain(before, state):
            self.carried = {**self.carried, "said": self._wait_log.said}
        is_given_up = OnOpen(self.on_open) is OnOpen.TAKE_OVER and before.state is IntervalState.FAILED
        if is_given_up or state is ClaimantState.DONE or state.is_over:
            last = await ledger.last(interval)
            return {"status": "failed"} if turn.may_wake(last and last.version) else None
        return None
