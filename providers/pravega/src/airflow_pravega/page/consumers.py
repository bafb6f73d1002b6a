"""Consumers on the page: their intervals, their lag, and the findings about their records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega import PravegaClient, StreamName
from aiopravega.bounded import each
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, NotFoundError, TableNotFoundError
from aiopravega.intervals.reports.lag import lag_after
from aiopravega.intervals.reports.verify import IntervalFinding, verify
from aiopravega.ledger import CutRecord, IntervalState

_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a stream.

    `behind` is the number of bytes from the end of the last interval that it has processed in order to the tail, by
    `aiopravega.intervals.reports.lag`; None if it is not known, with the reason in `unknown`. `loss` describes data
    that was removed before it was processed.
    """

    stream: StreamName
    name: str
    records: Sequence[CutRecord]
    behind: int | None
    unknown: str | None = None
    loss: str | None = None

    @property
    def states(self) -> dict[IntervalState, int]:
        """The number of intervals in each state; a state without any is left out."""
        counted = Counter(record.state for record in self.records)
        return {state: counted[state] for state in IntervalState if counted[state]}

    @property
    def last(self) -> CutRecord:
        """The interval with the latest end."""
        return self.records[-1]

    @property
    def changed_at(self) -> datetime:
        """The time of the last record for it."""
        return max(record.state_since for record in self.records)


async def consumers_of(client: PravegaClient, scope: str, stream: StreamName | None = None) -> list[Consumer]:
    """The consumers that the cut ledger of a scope has, sorted by stream and name; none if there is no ledger.

    Args:
        client: a connected client.
        scope: the scope that has the ledger.
        stream: only consumers of this stream; None: of all streams.

    Raises:
        LedgerError: this release cannot read a record.
        PravegaError: the cluster does not answer.
    """
    try:
        records = await client.cut_ledger(scope).consumers()
    except TableNotFoundError:
        return []

    async def one(key: tuple[StreamName, str]) -> Consumer:
        return await _consumer(client, *key, records[key])

    wanted = [key for key in records if stream in (None, key[0])]
    return await each(one, sorted(wanted, key=lambda key: (str(key[0]), key[1])), _AT_ONCE)


async def consumer_of(client: PravegaClient, stream: StreamName, name: str) -> tuple[Consumer, list[IntervalFinding]]:
    """One consumer, and the findings of `pravega cuts verify` about its intervals.

    Raises:
        ConfigurationError: the consumer has no intervals of the stream.
        PravegaError: the cluster does not answer.
    """
    try:
        records = await client.cut_ledger(stream.scope).records(name, stream)
    except TableNotFoundError:
        records = []
    if not records:
        raise ConfigurationError(f"{name!r} has no intervals of {stream}")
    try:
        findings = await verify(client, records)
    except NotFoundError:  # the stream is gone, so that the records cannot be compared; `unknown` reports it
        findings = []
    return await _consumer(client, stream, name, records), findings


async def _consumer(client: PravegaClient, stream: StreamName, name: str, records: Sequence[CutRecord]) -> Consumer:
    try:
        lag = await lag_after(client, stream, records)
    except (NotFoundError, InvalidStreamCutError) as error:
        return Consumer(stream, name, records, None, unknown=str(error))
    return Consumer(stream, name, records, lag.size, loss=lag.loss)
