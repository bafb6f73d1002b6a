"""The sensor that waits until a stream has moved far enough, and hands on the range as two cuts.

Each run gets a range of its own, recorded in the cut ledger: a run that is tried or cleared again gets the same one,
and with `since="last"` the next run starts where this one ended.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow.sdk import Context, PokeReturnValue, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, TableConflictError
from aiopravega.ledger import Interval, StoredRange
from aiopravega.loop import LoopThread
from aiopravega.read.positions import find_cut
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.identity import consumer_name, interval_name
from airflow_pravega.intervals import to_xcom
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.stream_moved import end_if_moved
from airflow_pravega.task_failures import failing_for_good
from airflow_pravega.templated_values import EARLIEST, LATEST, position_of, whole_number
from airflow_pravega.triggers.stream_cut import PravegaStreamCutTrigger

LAST: Final = "last"


class PravegaStreamCutSensor(PravegaWaitingSensor):
    """Waits until at least `min_bytes` are written to a stream since a cut; returns a range.

    It is `{"start": text, "end": text, "consumer": name, "interval": name}`: `start` is where it waited from, `end` the
    tail when the condition held. If it holds at once, the task does not defer. Every range that it returns is recorded
    in the cut ledger under this task and this run, which `consumer` and `interval` name: a `PravegaSparkReadOperator`
    that gets it as `stream_cuts` records that the interval is done.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        since: where to start: `"last"` (where this task's last recorded range ended; the head of the stream if there is
            none), `"earliest"` (the head), the text of a StreamCut, or a range, such as another sensor's output, whose
            end is meant. (templated)
        min_bytes: bytes to wait for, event headers (8 bytes each) included. (templated)
        deferrable: wait on the triggerer, without a worker slot.
        record: whether ranges are recorded. Without, an account that may only read is enough, but a second try of a
            run gets a range that ends at the then tail, and `since` cannot be `"last"`.
        pravega_conn_id: id of the connection.
        poll_interval: seconds between two looks while deferred; `poke_interval` counts while not.
    """

    template_fields: Sequence[str] = ("stream", "since", "min_bytes", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        since: str | Mapping[str, str] | XComArg = LAST,
        min_bytes: int | str | XComArg = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.since = since
        self.min_bytes = min_bytes

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once; defer if the stream has not moved far enough and the sensor may.

        Raises:
            AirflowFailException: the stream or the cut cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            look = _Look(hook.get_config(), self, context)
            taken = LoopThread.shared().run(look.take())
        if taken is not None:
            return PokeReturnValue(True, taken)
        self.log.info("%s has not moved by %s bytes since %s", look.stream, f"{look.min_bytes:,}", look.start)
        if self.deferrable:
            self.wait_with(
                PravegaStreamCutTrigger(
                    stream=str(look.stream),
                    since=look.start.to_text(),
                    min_bytes=look.min_bytes,
                    poll_interval=self.poll_interval,
                    pravega_conn_id=self.pravega_conn_id,
                )
            )
        return PokeReturnValue(False)


class _Look:
    """One look at the stream, for one run of one task."""

    def __init__(self, config: PravegaConfig, sensor: PravegaStreamCutSensor, context: Context) -> None:
        self._config = config
        self.stream = StreamName.parse(sensor.stream, config.scope)
        self.min_bytes = whole_number("min_bytes", sensor.min_bytes)
        self.start = StreamCut.unbounded()  # known after the look
        self._since = sensor.since
        self._record = sensor.record
        self._fired = sensor.fired
        self._interval = Interval(consumer_name(context), self.stream, interval_name(context))
        if self._since == LAST and not self._record:
            raise ConfigurationError('since="last" needs the records of earlier runs: do not say record=False')

    async def take(self) -> dict[str, str] | None:
        """The range of this run: the recorded one, or a new one if the stream has moved far enough."""
        async with PravegaClient(self._config) as client:
            if not self._record:
                free = await self._find(client, None)
                return None if free is None else free.to_json()
            await client.head(self.stream.scope, self.stream.stream)  # no ledger is made for a stream that is not there
            ledger = client.cut_ledger(self.stream.scope)
            await ledger.create()
            while True:
                last = await ledger.last(self._interval)
                recorded = await ledger.find(self._interval)
                if recorded is not None and await self._fits(client, recorded.range):
                    return to_xcom(recorded)
                found = await self._find(client, last)
                if found is None:
                    return None
                try:
                    return to_xcom(await ledger.record(self._interval, found, after=last, chained=self._since == LAST))
                except TableConflictError:
                    continue  # another run has taken a range since `last`: with since="last" ours starts after it

    async def _find(self, client: PravegaClient, last: StoredRange | None) -> StreamCutRange | None:
        self.start = await self._start(client, last)
        if self._fired is not None:
            seen = StreamCutRange.from_json(self._fired)
            if seen.start == self.start:
                return seen  # the trigger has checked it already
        end = await end_if_moved(client, self.start, self.min_bytes, check=True)
        return None if end is None else StreamCutRange(self.start, end)

    async def _start(self, client: PravegaClient, last: StoredRange | None) -> StreamCut:
        if self._since != LAST:
            return await self._named(client)
        return await client.head(self.stream.scope, self.stream.stream) if last is None else last.range.end

    async def _named(self, client: PravegaClient) -> StreamCut:
        cut = await find_cut(client, self.stream, position_of(self._since, self.stream))
        if cut.is_unbounded:
            raise InvalidStreamCutError(
                f"an unbounded StreamCut is not a position in {self.stream}: give {EARLIEST} or {LATEST} instead"
            )
        return cut

    async def _fits(self, client: PravegaClient, recorded: StreamCutRange) -> bool:
        """Whether a recorded range is what is asked for: somebody may have given the run another start meanwhile."""
        if self._since in (LAST, EARLIEST):
            return True
        return recorded.start == await self._named(client)
