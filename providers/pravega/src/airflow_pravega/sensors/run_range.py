"""The range that one run of a sensor can have now, by its stream and by the cut ledger."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow.sdk import Context, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import InvalidStreamCutError, TableConflictError, TableNotFoundError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_range import (
    SINCE,
    ChainRules,
    FormerName,
    NotNow,
    find_own,
    take_next,
    what_remains,
)
from aiopravega.intervals.chain.next_start import OnOpen, next_start
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import Claimant, ClaimantState, CutLedger, CutRecord, Interval, IntervalState
from aiopravega.positions import NamedCut
from aiopravega.read.calls import find_cut
from airflow_pravega.sensors.mapped_chains import continued_chain, former_consumer
from airflow_pravega.tasks.arguments import EARLIEST, LATEST, position_of
from airflow_pravega.tasks.claimants import (
    Judge,
    check_not_shared,
    claimant_of,
    is_of_another_airflow,
    with_parts,
)
from airflow_pravega.tasks.identity import chain_name, is_dag_test, map_index, own_interval, write_name
from airflow_pravega.tasks.intervals import find_table, to_xcom
from pravega_jobs.identity.sinks import asking_sinks

LAST: Final = "last"
# A range starts where the one before it ended.
CHAINED: Final = tuple(SINCE)


@dataclass(frozen=True, slots=True)
class RangeArguments:
    """The arguments of a sensor that decide about its range, once they are rendered."""

    stream: str
    since: str | Mapping[str, str] | XComArg
    consumer: str | None
    on_open: OnOpen
    on_truncated: OnTruncated
    deadline: datetime
    record: bool


class RunRange:
    """The range of a run. Without a range, the run waits for the record `waits_for`, or for data after `start`.

    Args:
        config: the cluster.
        arguments: of the sensor.
        context: the task's context.
        watch: the conditions.
        fired: the event of the sensor's trigger, if it has fired.
        judge: asks Airflow for the state of other claimants.
        consumer: the consumer whose chain an earlier check of this task has continued.
    """

    def __init__(
        self,
        config: PravegaConfig,
        arguments: RangeArguments,
        context: Context,
        watch: StreamWatch,
        fired: dict[str, Any] | None,
        judge: Judge,
        consumer: str | None = None,
    ) -> None:
        self._config = config
        self._arguments = arguments
        self._context = context
        # The range that the trigger has checked already.
        self._checked = StreamCutRange.from_json(fired) if fired and "start" in fired else None
        self._by = write_name(context)
        self.stream = StreamName.parse(arguments.stream, config.scope)
        self._watch = watch
        self._judge = judge
        self.on_open = arguments.on_open
        self.deadline = arguments.deadline
        self.start = StreamCut.unbounded()
        self.waits_for: CutRecord | None = None
        self.state = ClaimantState.UNKNOWN
        self.is_recorded = arguments.record
        self._own = own_interval(context, is_shared=arguments.consumer is not None)
        self._is_settled = consumer is not None or arguments.consumer is not None or map_index(context) is None
        self.interval = Interval(consumer or chain_name(context, arguments.consumer), self.stream, self._own.name)

    @property
    def is_chained(self) -> bool:
        """True if the range starts where the one before it ended, and the next one where it ends."""
        return self.is_recorded and self._arguments.since in CHAINED

    async def claim(self) -> dict[str, str] | None:
        """Return the recorded range of this run, or record a new one; None if the stream has not moved far enough."""
        async with PravegaClient(self._config) as client:
            return await self.claim_by(client)

    async def claim_by(self, client: PravegaClient) -> dict[str, str] | None:
        """The same by a client that is connected."""
        if self.is_recorded and await self._is_test_of_another(client):
            self.is_recorded = False
        if not self.is_recorded:
            self.start = await (self._following if self._arguments.since in CHAINED else self._named)(client)
            unrecorded = await self._moved(client)
            return None if unrecorded is None else unrecorded.to_json()
        await client.head(self.stream)  # no ledger is made for a missing stream
        ledger = client.cut_ledger(self.stream.scope)
        await ledger.create()
        if not self._is_settled:
            await self._settle(client, ledger)
        claimant = claimant_of(self._context)
        if self.is_chained:
            record = await self._from_chain(client, ledger, claimant)
        else:
            record = await self._from_named(client, ledger, claimant)
        if record is None:
            return None
        check_not_shared(record, claimant, self._context)
        return to_xcom(await with_parts(ledger, record, claimant, self._context))

    async def has_own(self, client: PravegaClient) -> bool:
        """True if this run has a recorded range already, as after it was cleared."""
        try:
            record = await find_own(client.cut_ledger(self.stream.scope), self.interval, self._former)
        except TableNotFoundError:
            return False
        return self.is_recorded and record is not None and record.state is not IntervalState.GIVEN_BACK

    async def _from_chain(self, client: PravegaClient, ledger: CutLedger, claimant: Claimant) -> CutRecord | None:
        rules = ChainRules(
            SINCE[str(self._arguments.since)],
            self.on_open,
            on_truncated=self._arguments.on_truncated,
            deadline=self.deadline,
            judge=self._judge,
            ask_sink=asking_sinks(client, find_table),
        )
        found = await take_next(
            client,
            ledger,
            self.interval,
            rules,
            self._watch,
            by=self._by,
            seen=self._checked,
            claimant=claimant,
            former=self._former,
        )
        if isinstance(found, NotNow):
            self.waits_for, self.state, self.start = found.waits_for, found.state, found.start
            return None
        return found

    @property
    def _former(self) -> FormerName | None:
        if self.interval.name == self._own.former:
            return None
        return FormerName(Interval(self.interval.consumer, self.stream, self._own.former), self._own.is_own)

    async def _settle(self, client: PravegaClient, ledger: CutLedger) -> None:
        """Find the chain of a mapped sensor, which an older release may have begun under another name."""
        former = Interval(self.interval.consumer, self.stream, self._own.former)
        consumer = await former_consumer(ledger, self._context, [former])
        if consumer is not None:
            self.interval = Interval(consumer, self.stream, former.name)
        elif self.is_chained:
            consumer = await continued_chain(client, ledger, self.interval)
            self.interval = Interval(consumer, self.stream, self.interval.name)
        self._is_settled = True

    async def _is_test_of_another(self, client: PravegaClient) -> bool:
        """True for `dag.test()` of a chain that another Airflow reads: a range of it would be lost there."""
        if not is_dag_test(self._context):
            return False
        try:
            last = await client.cut_ledger(self.stream.scope).last(self.interval)
        except TableNotFoundError:
            return False
        return last is not None and is_of_another_airflow(last.record.claimant, claimant_of(self._context))

    async def _from_named(self, client: PravegaClient, ledger: CutLedger, claimant: Claimant) -> CutRecord | None:
        """Return the recorded range from the position that the arguments name, or record one; None if it must wait.

        If the argument `since` was changed since the range was recorded, a new range replaces it.
        """
        self.start = await self._named(client)
        while True:
            record = await find_own(ledger, self.interval, self._former)
            if record is not None and record.state is not IntervalState.GIVEN_BACK and self._fits(record):
                return await what_remains(client, ledger, record, self._arguments.on_truncated, by=self._by)
            new = await self._moved(client)
            if new is None:
                return None
            last = await ledger.last(self.interval)
            with suppress(TableConflictError):  # another run has taken a range meanwhile
                return await ledger.record(
                    self.interval, new, after=last, chained=False, by=self._by, claimant=claimant
                )

    def _fits(self, record: CutRecord) -> bool:
        return self._arguments.since == EARLIEST or record.range.start == self.start

    async def _moved(self, client: PravegaClient) -> StreamCutRange | None:
        if self._checked is not None and self._checked.start == self.start:
            return self._checked
        end = await self._watch.end_if_moved(client, self.start, check=True)
        return None if end is None else StreamCutRange(self.start, end)

    async def _following(self, client: PravegaClient) -> StreamCut:
        """The start of a next range that is not recorded: it waits for no open range before it."""
        first = await (client.head if SINCE[str(self._arguments.since)] is NamedCut.HEAD else client.tail)(self.stream)
        ledger = client.cut_ledger(self.stream.scope)
        try:
            return (await next_start(client, ledger, self.interval, first, self._arguments.on_truncated)).cut
        except TableNotFoundError:
            return first

    async def _named(self, client: PravegaClient) -> StreamCut:
        cut = await find_cut(client, self.stream, position_of(self._arguments.since, self.stream))
        if cut.is_unbounded:
            raise InvalidStreamCutError(
                f"an unbounded StreamCut is not a position in {self.stream}: give {EARLIEST} or {LATEST} instead"
            )
        return cut
