"""The range that one run of a sensor can have now, by its stream and by the cut ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow.sdk import Context, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import InvalidStreamCutError, TableConflictError
from aiopravega.intervals.chain import (
    NextStart,
    OnOpen,
    begin_at_tail,
    next_start,
    not_done,
    take_over,
    waited_for,
)
from aiopravega.intervals.losses import OnTruncated, left_to_process
from aiopravega.intervals.moved import StreamWatch
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from aiopravega.read.positions import find_cut
from airflow_pravega.identity import chain_name, interval_name, write_name
from airflow_pravega.intervals import to_xcom
from airflow_pravega.templated_values import EARLIEST, LATEST, position_of

LAST: Final = "last"
# A range starts where the one before it ended.
CHAINED: Final = (LAST, LATEST)


@dataclass(frozen=True, slots=True)
class RangeArguments:
    """What a sensor's arguments ask for, once they are rendered."""

    stream: str
    since: str | Mapping[str, str] | XComArg
    consumer: str | None
    on_open: OnOpen
    on_truncated: OnTruncated
    deadline: datetime
    record: bool


class RunRange:
    """The range of a run. As long as there is none, `waits_for` or `start` says what the run waits for."""

    def __init__(
        self,
        config: PravegaConfig,
        arguments: RangeArguments,
        context: Context,
        watch: StreamWatch,
        fired: dict[str, Any] | None,
    ) -> None:
        self._config = config
        self._arguments = arguments
        self._fired = fired or {}
        self._by = write_name(context)
        self.stream = StreamName.parse(arguments.stream, config.scope)
        self._watch = watch
        self.on_open = arguments.on_open
        self.deadline = arguments.deadline
        self.start = StreamCut.unbounded()
        self.waits_for: CutRecord | None = None
        self.interval = Interval(chain_name(context, arguments.consumer), self.stream, interval_name(context))

    async def take(self) -> dict[str, str] | None:
        """The range of this run: the recorded one, or a new one if the stream has moved far enough."""
        async with PravegaClient(self._config) as client:
            if not self._arguments.record:
                self.start = await self._named(client)
                free = await self._moved(client)
                return None if free is None else free.to_json()
            await client.head(self.stream.scope, self.stream.stream)  # no ledger is made for a stream that is not there
            ledger = client.cut_ledger(self.stream.scope)
            await ledger.create()
            while True:
                recorded = await self._recorded(client, ledger)
                if recorded is not None:
                    return to_xcom(recorded)
                if not await self._may_continue(ledger):
                    return None
                begins = await self._begins(client, ledger)
                self.start = begins.cut
                found = await self._moved(client)
                if found is None:
                    return None
                try:
                    return to_xcom(
                        await ledger.record(
                            self.interval,
                            found,
                            after=begins.after,
                            chained=self._arguments.since in CHAINED,
                            by=self._by,
                            skipped=begins.skipped,
                        )
                    )
                except TableConflictError:
                    continue  # another run has taken a range meanwhile: in a chain ours starts after it

    async def _recorded(self, client: PravegaClient, ledger: CutLedger) -> CutRecord | None:
        """The range that this run has already, or what is left of it."""
        record = await ledger.find(self.interval)
        if record is None or record.state is IntervalState.GIVEN_BACK or not await self._fits(client, record.range):
            return None
        left = await left_to_process(client, record, self._arguments.on_truncated)
        if left is None or left.gone is None:
            return record
        return await ledger.replace(record, left.range, left.gone, by=self._by)

    async def _may_continue(self, ledger: CutLedger) -> bool:
        """Whether no other run is to be waited for. One that was waited for long enough is an error, or taken over."""
        self.waits_for = None
        if self._arguments.since not in CHAINED or self.on_open is OnOpen.SKIP:
            return True
        while (record := await waited_for(ledger, self.interval)) is not None:
            is_over = datetime.now(UTC) >= self.deadline
            if self.on_open is OnOpen.TAKE_OVER and (is_over or record.state is IntervalState.FAILED):
                await take_over(ledger, self.interval, record, by=self._by)
                continue
            if is_over:
                raise not_done(record)
            self.waits_for = record
            return False
        return True

    async def _begins(self, client: PravegaClient, ledger: CutLedger) -> NextStart:
        last = await ledger.last(self.interval)
        if self._arguments.since not in CHAINED:
            return NextStart(await self._named(client), last)
        if last is None and self._arguments.since == LATEST:
            await begin_at_tail(client, ledger, self.interval)
        head = await client.head(self.stream.scope, self.stream.stream)
        return await next_start(client, ledger, self.interval, head, self._arguments.on_truncated)

    async def _moved(self, client: PravegaClient) -> StreamCutRange | None:
        if "start" in self._fired:
            seen = StreamCutRange.from_json(self._fired)
            if seen.start == self.start:
                return seen  # the trigger has checked it already
        end = await self._watch.end_if_moved(client, self.start, check=True)
        return None if end is None else StreamCutRange(self.start, end)

    async def _named(self, client: PravegaClient) -> StreamCut:
        cut = await find_cut(client, self.stream, position_of(self._arguments.since, self.stream))
        if cut.is_unbounded:
            raise InvalidStreamCutError(
                f"an unbounded StreamCut is not a position in {self.stream}: give {EARLIEST} or {LATEST} instead"
            )
        return cut

    async def _fits(self, client: PravegaClient, recorded: StreamCutRange) -> bool:
        """Whether a recorded range is the requested one: the run may have been given another start meanwhile."""
        if self._arguments.since in (*CHAINED, EARLIEST):
            return True
        return recorded.start == await self._named(client)
