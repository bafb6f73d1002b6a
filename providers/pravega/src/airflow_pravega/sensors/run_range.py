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
from aiopravega.intervals.chain.next_range import SINCE, ChainRules, NotNow, take_next, what_remains
from aiopravega.intervals.chain.next_start import OnOpen, next_start
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from aiopravega.positions import NamedCut
from aiopravega.read.calls import find_cut
from airflow_pravega.tasks.arguments import EARLIEST, LATEST, position_of
from airflow_pravega.tasks.identity import chain_name, interval_name, write_name
from airflow_pravega.tasks.intervals import to_xcom

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

    @property
    def is_chained(self) -> bool:
        """True if the range starts where the one before it ended, and the next one where it ends."""
        return self.record and self.since in CHAINED


class RunRange:
    """The range of a run. Without a range, the run waits for the record `waits_for`, or for data after `start`."""

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
        # The range that the trigger has checked already.
        self._checked = StreamCutRange.from_json(fired) if fired and "start" in fired else None
        self._by = write_name(context)
        self.stream = StreamName.parse(arguments.stream, config.scope)
        self._watch = watch
        self.on_open = arguments.on_open
        self.deadline = arguments.deadline
        self.start = StreamCut.unbounded()
        self.waits_for: CutRecord | None = None
        self.interval = Interval(chain_name(context, arguments.consumer), self.stream, interval_name(context))

    async def claim(self) -> dict[str, str] | None:
        """Return the recorded range of this run, or record a new one; None if the stream has not moved far enough."""
        async with PravegaClient(self._config) as client:
            if not self._arguments.record:
                self.start = await (self._following if self._arguments.since in CHAINED else self._named)(client)
                unrecorded = await self._moved(client)
                return None if unrecorded is None else unrecorded.to_json()
            await client.head(self.stream)  # no ledger is made for a missing stream
            ledger = client.cut_ledger(self.stream.scope)
            await ledger.create()
            if not self._arguments.is_chained:
                record = await self._from_named(client, ledger)
                return None if record is None else to_xcom(record)
            rules = ChainRules(
                SINCE[str(self._arguments.since)],
                self.on_open,
                on_truncated=self._arguments.on_truncated,
                deadline=self.deadline,
            )
            claimed = await take_next(
                client, ledger, self.interval, rules, self._watch, by=self._by, seen=self._checked
            )
            if isinstance(claimed, NotNow):
                self.waits_for, self.start = claimed.waits_for, claimed.start
                return None
            return to_xcom(claimed)

    async def _from_named(self, client: PravegaClient, ledger: CutLedger) -> CutRecord | None:
        """Return the recorded range from the position that the arguments name, or record one; None if it must wait.

        If the argument `since` was changed since the range was recorded, a new range replaces it.
        """
        self.start = await self._named(client)
        while True:
            record = await ledger.find(self.interval)
            if record is not None and record.state is not IntervalState.GIVEN_BACK and self._fits(record):
                return await what_remains(client, ledger, record, self._arguments.on_truncated, by=self._by)
            new = await self._moved(client)
            if new is None:
                return None
            last = await ledger.last(self.interval)
            with suppress(TableConflictError):  # another run has taken a range meanwhile
                return await ledger.record(self.interval, new, after=last, chained=False, by=self._by)

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
