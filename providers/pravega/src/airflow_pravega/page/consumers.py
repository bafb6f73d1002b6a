"""What the page shows of consumers: their intervals, how far behind they are, and what is wrong with them."""

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

    `behind` is how many bytes lie between what it has processed in order and the tail, by
    `aiopravega.intervals.reports.lag`; None: that is not known, and `unknown` says why. `loss` is what was
    removed before it was processed, in words.
    """

    stream: StreamName
    name: str
    records: Sequence[CutRecord]
    behind: int | None
    unknown: str | None = None
    loss: str | None = None

    @property
    def states(self) -> dict[IntervalState, int]:
        """How many intervals are in each state; a state without any is left out."""
        counted = Counter(record.state for record in self.records)
        return {state: counted[state] for state in IntervalState if counted[state]}

    @property
    def last(self) -> CutRecord:
        """The interval that leads furthest."""
        return self.records[-1]

    @property
    def changed_at(self) -> datetime:
        """When something was last recorded for it."""
        return max(record.state_since for record in self.records)


async def consumers_of(client: PravegaClient, scope: str, stream: StreamName | None = None) -> list[Consumer]:
    """The consumers that the cut ledger of a scope has, by stream and name; none if there is no ledger.

    Args:
        client: a connected client.
        scope: that has the ledger.
        stream: whose consumers they are; None: of all streams.

    Raises:
        LedgerError: a record is not one that this release reads.
        PravegaError: the cluster cannot be asked.
    """
    try:
        found = await client.cut_ledger(scope).consumers()
    except TableNotFoundError:
        return []

    async def one(key: tuple[StreamName, str]) -> Consumer:
        return await _consumer(client, *key, found[key])

    wanted = [key for key in found if stream in (None, key[0])]
    return await each(one, sorted(wanted, key=lambda key: (str(key[0]), key[1])), _AT_ONCE)


async def consumer_of(client: PravegaClient, stream: StreamName, name: str) -> tuple[Consumer, list[IntervalFinding]]:
    """One consumer, and what is wrong with its intervals, as `pravega cuts verify` finds it.

    Raises:
        ConfigurationError: it has no intervals of the stream.
        PravegaError: the cluster cannot be asked.
    """
    try:
        records = await client.cut_ledger(stream.scope).records(name, stream)
    except TableNotFoundError:
        records = []
    if not records:
        raise ConfigurationError(f"{name!r} has no intervals of {stream}")
    try:
        findings = await verify(client, records)
    except NotFoundError:  # of a stream that is not there, there is nothing to compare with; `unknown` says so
        findings = []
    return await _consumer(client, stream, name, records), findings


async def _consumer(client: PravegaClient, stream: StreamName, name: str, records: Sequence[CutRecord]) -> Consumer:
    try:
        lag = await lag_after(client, stream, records)
    except (NotFoundError, InvalidStreamCutError) as error:
        return Consumer(stream, name, records, None, unknown=str(error))
    return Consumer(stream, name, records, lag.size, loss=lag.loss)
