"""A range for a block of a program: the block processes it, and its end records how that went in the cut ledger.

All schedulers have the same rules of a chain (`next_range`). This module knows no scheduler: a host says which
error is the last one of its tries.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, NoRangeYetError, PravegaError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_range import ChainRules, NotNow, take_next, what_remains
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import CUT_TABLE, Interval
from aiopravega.ledger.stored_json import myself
from aiopravega.names import StreamName
from aiopravega.read import Event


def _is_always_final(_: BaseException) -> bool:
    return True


class TakenRange:
    """A range for `async with`: at the end of the block its interval is done; if the block raises, it has failed.

    Args:
        client: a connected client.
        range_: the range.
        of: the interval that has the range, if it is known.
        records: False if nothing is to be recorded.
        times: the event times that the range was taken for; it also has events of other times.
        parts: the names of all parts of the work, if several tasks process the range. The interval is done when all
            parts are.
        part: the name of the part that the block is.
        table: the key-value table of the cut ledger, in the stream's scope.
        by: the author of a change; None: the user and the host of this process.
        is_final: True for an error after which the work is not tried again. After another error the interval stays
            open, and the next try has the same range.

    Raises:
        ConfigurationError: the range is unbounded on both sides; or there are parts, and the block is none of them.
        LedgerError: at the beginning of the block: the interval is not to be processed any more, or has another range.
    """

    def __init__(
        self,
        client: PravegaClient,
        range_: StreamCutRange,
        of: Interval | None = None,
        *,
        records: bool = True,
        times: tuple[datetime, datetime] | None = None,
        parts: Sequence[str] = (),
        part: str | None = None,
        table: str = CUT_TABLE,
        by: str | None = None,
        is_final: Callable[[BaseException], bool] = _is_always_final,
    ) -> None:
        if range_.stream is None:
            raise ConfigurationError("a range between two unbounded StreamCuts names no stream: give a cut of a stream")
        if isinstance(parts, str) or (parts and part not in parts):
            raise ConfigurationError(f"part is {part!r}, but must be one of the parts: {parts!r}")
        self.client = client
        self.stream = range_.stream
        self.range = range_
        self.times = times
        self._of = of
        self._records = of if records else None
        self._parts = parts or ([] if part is None else [part])
        self._part = part
        self._ledger = client.cut_ledger(range_.stream.scope, table)
        self._by = by
        self._is_final = is_final

    @property
    def start(self) -> StreamCut:
        """The cut at which the range begins."""
        return self.range.start

    @property
    def end(self) -> StreamCut:
        """The cut at which the range ends."""
        return self.range.end

    @property
    def consumer(self) -> str | None:
        """The consumer that has the range; None: it is not known."""
        return None if self._of is None else self._of.consumer

    @property
    def interval(self) -> str | None:
        """The name of the interval that has the range; None: it is not known."""
        return None if self._of is None else self._of.name

    def events(self) -> AsyncGenerator[Event, None]:
        """The events of the range, in the order of each routing key; few of them are in memory at a time.

        Raises:
            StreamTruncatedError: retention or a truncation has removed events of the range.
            StreamMadeAgainError: the stream was deleted and made again.
            PravegaError: the cluster does not answer.
        """
        return self.client.read(self.range)

    async def __aenter__(self) -> Self:
        if self._records is not None:
            await self._ledger.begin(self._records, self.range, self._parts)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._records is None:
            return
        if error is None:
            await self._ledger.finish(self._records, self.range, by=self._by, part=self._part)
        elif self._is_final(error):
            # The error of the block matters more than one of the ledger.
            with contextlib.suppress(PravegaError):
                await self._ledger.fail(self._records, f"{type(error).__name__}: {error}", by=self._by)


async def take(
    client: PravegaClient,
    stream: StreamName | str,
    *,
    consumer: str,
    interval: str,
    condition: MoveCondition | None = None,
    rules: ChainRules | None = None,
    parts: Sequence[str] = (),
    part: str | None = None,
    table: str = CUT_TABLE,
    by: str | None = None,
    is_final: Callable[[BaseException], bool] = _is_always_final,
) -> TakenRange:
    """Take the range of an interval for a block: its recorded range, or the next one of the consumer's chain.

    The next range starts where the consumer's last one ended, and the first one at the head of the stream. Of programs
    that race, each gets a range of its own.

    Args:
        client: a connected client.
        stream: the stream that is processed: a StreamName, or a text `scope/stream`.
        consumer: the name of the job that processes it.
        interval: the name of the work, such as a day or a run. The same interval always gets the same range.
        condition: the condition for a new range, and its bounds. By default the range ends at the tail, and may be
            empty.
        rules: the rules of the chain. By default, the range of an interval that has failed is taken over, and that of
            an open one after six hours.
        parts: the names of all parts of the work, if several tasks process the range: see `TakenRange`.
        part: the name of the part that the block is.
        table: the key-value table of the cut ledger in the stream's scope, which is made if it is missing.
        by: the author of the records; None: the user and the host of this process.
        is_final: True for an error after which the work is not tried again: see `TakenRange`.

    Raises:
        NoRangeYetError: an earlier interval is not done, or the condition does not hold yet.
        LedgerError: the interval was skipped.
        StreamNotFoundError: there is no such stream.
        StreamTruncatedError: events after the last range, or of the recorded one, are gone.
        StreamMadeAgainError: the stream was deleted and made again.
        ConfigurationError: a name is empty, or `part` is not one of `parts`.
        PravegaError: the cluster cannot be asked.
    """
    own, author = Interval(consumer, StreamName.of(stream), interval), by or myself()
    await client.head(own.stream)  # no ledger is made for a missing stream
    ledger = client.cut_ledger(own.stream.scope, table)
    await ledger.create()
    found = await take_next(
        client,
        ledger,
        own,
        rules or ChainRules(on_open=OnOpen.TAKE_OVER),
        StreamWatch(condition or MoveCondition(min_bytes=0)),
        by=author,
    )
    if isinstance(found, NotNow):
        raise NoRangeYetError(f"{own} has no range yet: {found.reason}")
    return TakenRange(
        client,
        found.range,
        found.identity,
        times=found.times,
        parts=parts,
        part=part,
        table=table,
        by=author,
        is_final=is_final,
    )


async def take_recorded(
    client: PravegaClient,
    interval: Interval,
    *,
    parts: Sequence[str] = (),
    part: str | None = None,
    table: str = CUT_TABLE,
    by: str | None = None,
    is_final: Callable[[BaseException], bool] = _is_always_final,
) -> TakenRange:
    """Take the recorded range of an interval for a block, such as that of a partition of Dagster.

    Args:
        client: a connected client.
        interval: the interval.
        parts: the names of all parts of the work, if several tasks process the range: see `TakenRange`.
        part: the name of the part that the block is.
        table: the key-value table of the cut ledger, in the stream's scope.
        by: the author of a change; None: the user and the host of this process.
        is_final: True for an error after which the work is not tried again: see `TakenRange`.

    Raises:
        LedgerError: the interval has no range, or was skipped.
        StreamTruncatedError: a part of the range is gone.
        StreamMadeAgainError: the stream was deleted and made again.
        TableNotFoundError: there is no ledger.
        PravegaError: the cluster cannot be asked.
    """
    ledger, author = client.cut_ledger(interval.stream.scope, table), by or myself()
    found = await ledger.find(interval)
    if found is None:
        raise LedgerError(f"{interval} has no range: no scheduler has taken one, or it has another name")
    found = await what_remains(client, ledger, found, OnTruncated.FAIL, by=author)
    return TakenRange(
        client,
        found.range,
        found.identity,
        times=found.times,
        parts=parts,
        part=part,
        table=table,
        by=author,
        is_final=is_final,
    )
