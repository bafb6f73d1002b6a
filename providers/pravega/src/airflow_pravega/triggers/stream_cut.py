"""Triggers that wait until a stream has moved: the sensor's, for one range, and one for `AssetWatcher`, without end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.intervals.chain.losses import what_is_left
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.tails import Tail
from aiopravega.ledger import Interval
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling import Answer, PolledValue, TailOf
from airflow_pravega.tasks.arguments import check_stream, whole_number
from airflow_pravega.tasks.identity import check_consumer, deployed_name
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger, events_of
from pravega_jobs.debezium.transactions import watch_of


class PravegaStreamCutTrigger(PravegaWaitingTrigger):
    """Fires once, when enough is written after a cut: `{"status": "moved", "start": text, "end": text}`.

    Args:
        stream: the stream that `since` belongs to, as `scope/stream`; for people who read the trigger.
        since: text of a StreamCut.
        condition: the conditions to wait for, as `MoveCondition.to_json` of
            `aiopravega.intervals.conditions.move_condition` gives them. Silence is counted from zero after the
            triggerer has started again.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = (
        "since",
        "condition",
    )

    def __init__(self, *, since: str, condition: dict[str, Any], **waiting: Any) -> None:
        super().__init__(**waiting)
        self.since = since
        self.condition = condition
        self._watch = watch_of(MoveCondition.from_json(condition))

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        start = StreamCut.from_text(self.since)
        if start.stream is None:
            raise ConfigurationError("cannot wait from an unbounded StreamCut: it names no stream")
        return TailOf(start.stream)

    @property
    def checks_again(self) -> bool:
        """See `PravegaWaitingTrigger`: silence does not change the stream, and a watermark is in another stream."""
        return self._watch.condition.changes_by_itself

    async def check(self, client: PravegaClient, answer: Answer[Tail]) -> dict[str, Any] | None:
        start = StreamCut.from_text(self.since)
        end = await self._watch.end_if_seen(client, start, answer.value, answer.asked_at)
        return None if end is None else {"status": "moved", "start": start.to_text(), "end": end.to_text()}


class PravegaStreamCutEventTrigger(BaseEventTrigger):
    """Fires whenever data was written to a stream, for `AssetWatcher`: `{"stream": "scope/stream", "cut": text}`.

    `cut` is the stream's tail. The event only starts a run: the run takes its range from the cut ledger, by a
    `PravegaStreamCutSensor`, so that events that Airflow batches, repeats or loses do not change which data is read.
    Give the sensor `if_empty="skip"`, since an earlier run may have read everything by then.

    There is one event for each movement that a check finds, and none while the stream stands still. A trigger that
    starts, as in a new triggerer, does not know the events before: it fires if there is data that `consumer` has not
    taken; without `consumer`, if there is any data in the stream. The rest of a sealed stream is fired even if it is
    smaller than `min_bytes`.

    While the cluster is away, the trigger waits, with one line in the triggerer's log for the begin and one for the
    end. An error that waiting cannot heal, such as a stream that was deleted, is raised: it is in the triggerer's log,
    and Airflow starts the trigger again, which checks after `poll_interval`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        consumer: name of the chain of ranges in the cut ledger, as the sensor of the DAG has it. Ranges that the
            consumer has taken are not fired.
        min_bytes: bytes of a movement, event headers (8 bytes each) included.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
    """

    def __init__(
        self,
        stream: str,
        consumer: str | None = None,
        min_bytes: int = 1,
        poll_interval: float = 5.0,
        pravega_conn_id: str = PravegaHook.default_conn_name,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        check_stream(stream)
        if consumer is not None:
            check_consumer(consumer)
        if poll_interval <= 0:
            raise ConfigurationError(f"poll_interval is {poll_interval:g} s, but must be more than 0")
        self.stream = stream
        self.consumer = consumer
        # Airflow knows a trigger by its class and its arguments: 5 and 5.0 shall be the same trigger.
        self.min_bytes = whole_number("min_bytes", min_bytes)
        self.poll_interval = float(poll_interval)
        self.pravega_conn_id = pravega_conn_id
        self._fired: StreamCut | None = None
        # The tail after which there was nothing to fire.
        self._still: StreamCut | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON, always in the same order."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "stream": self.stream,
            "consumer": self.consumer,
            "min_bytes": self.min_bytes,
            "poll_interval": self.poll_interval,
            "pravega_conn_id": self.pravega_conn_id,
        }

    @property
    def checks_again(self) -> bool:
        return False

    async def run(self) -> AsyncGenerator[TriggerEvent, None]:
        """Yield an event for each movement, without end.

        Raises:
            PravegaError: one that waiting cannot heal.
            AirflowNotFoundException: there is no such connection.
        """
        async with aclosing(events_of(self)) as events:
            async for event in events:
                yield TriggerEvent(event)

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        return TailOf(StreamName.parse(self.stream, scope))

    async def check(self, client: PravegaClient, answer: Answer[Tail]) -> dict[str, Any] | None:
        stream = StreamName.parse(self.stream, client.config.scope)
        if answer.value.cut == self._still:
            return None
        starts = [start for start in (self._fired, await self._taken(client, stream)) if start is not None]
        starts = starts or [await client.head(stream)]
        # The stream may have moved since the poller asked, and the consumer may have taken the new data already.
        now = await Tail.of(client, stream)
        tail = now.cut
        moved = min([await self._bytes_after(client, start, tail) for start in starts])
        if 0 < moved < self.min_bytes and not now.is_sealed:
            return None
        self._still = tail
        if not moved:
            return None
        self._fired = tail
        return {"stream": str(stream), "cut": tail.to_text()}

    async def _taken(self, client: PravegaClient, stream: StreamName) -> StreamCut | None:
        """The end of the consumer's last range; None if it has no range yet."""
        if self.consumer is None:
            return None
        following = Interval(deployed_name(self.consumer), stream, "next")
        try:
            last = await client.cut_ledger(stream.scope).last(following)
        except TableNotFoundError:  # the first sensor makes the ledger
            return None
        return None if last is None else last.end

    @staticmethod
    async def _bytes_after(client: PravegaClient, start: StreamCut, tail: StreamCut) -> int:
        """Bytes that can be read between a cut and the tail; data that is gone is not counted."""
        left = await what_is_left(client, start)
        return await client.distance(left.range.start, tail)
