"""Sinks of claims, asked by a take-over: is the write, the landing or the merge of an ended claimant done?

A sink that does not have the write is closed for it: a zombie of the old claimant must not commit afterwards. The
commit ledger keeps a closed record, which refuses all attempts until a new claim opens the write. A table refuses rows
of events that it has under another interval of the consumer.
"""

import contextlib
from collections.abc import Callable
from typing import Protocol

from aiopravega.client import PravegaClient
from aiopravega.errors import (
    GenerationError,
    HalfDoneError,
    PartialCommitError,
    ScopeNotFoundError,
    StreamNotFoundError,
    TableNotFoundError,
)
from aiopravega.intervals.chain.take_over import AskSink, ways_out
from aiopravega.ledger import CommitLedger, CommitState, CutLedger, CutRecord, Interval, Sink, ledger_name
from aiopravega.ledger.commits.closing import close_write, reopen_write
from aiopravega.names import StreamName
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Holding, Landing
from pravega_jobs.landing.store_access import StoreAccess, accessing


class HoldsIntervals(Protocol):
    """A table, as far as it is asked here."""

    def held(self, landing: Landing) -> Holding | None:
        """The table's holding of the interval of a landing; None: it does not have it."""
        ...


FindTable = Callable[[str], HoldsIntervals | None]


class AccessedTable:
    """A table in an object store that is asked by an access, and not by the environment."""

    def __init__(self, table: HoldsIntervals, access: StoreAccess) -> None:
        self._table, self._access = table, access

    def held(self, landing: Landing) -> Holding | None:
        """The table's holding of the interval of a landing; None: it does not have it."""
        with accessing(self._access):
            return self._table.held(landing)


def asking_sinks(client: PravegaClient, find_table: FindTable | None = None) -> AskSink:
    """A function that asks the sinks of a claim.

    Args:
        client: a connected client.
        find_table: the table of an identity, with its secrets; None: this caller does not have it.
    """

    async def ask(sink: Sink, record: CutRecord) -> bool:
        if sink.kind == "write":
            return await _is_written(client, sink, record)
        table = None if find_table is None else find_table(sink.target)
        if table is None:
            raise HalfDoneError(
                f"{record.identity} may be in {sink.target}, which cannot be asked from here. {ways_out(record)}"
            )
        return _holds(table, sink, record)

    return ask


async def declare_sink(
    client: PravegaClient, ledger: CutLedger, interval: Interval, part: str, sink: Sink
) -> CutRecord:
    """Record into what a part of a claim is written, before the first request of its write.

    A write that a take-over has closed is reopened, if the claim is still the caller's. The sink is declared after
    that: a take-over that has closed the write and not given the range back yet meets another record.

    Raises:
        LedgerError: the interval has no range, or is not to be processed any more.
        PravegaError: the cluster cannot be reached.
    """
    if sink.kind == "write":
        commits, stream = _ledger_of(client, sink), StreamName.parse(sink.target)
        with contextlib.suppress(TableNotFoundError):
            found = await commits.owner(stream, sink.id)
            if found is not None and found.record.state is CommitState.CLOSED:
                await ledger.declare(interval, part, sink)
                await reopen_write(commits, stream, sink.id)
    return await ledger.declare(interval, part, sink)


async def _is_written(client: PravegaClient, sink: Sink, record: CutRecord) -> bool:
    commits, stream = _ledger_of(client, sink), StreamName.parse(sink.target)
    try:
        await commits.create()
        return await close_write(commits.protocol(), commits, stream, sink.id, sink.generation) is not None
    except (ScopeNotFoundError, StreamNotFoundError, GenerationError):
        return False  # the stream is not made yet, or the generation before is not done: nothing can be written
    except PartialCommitError as error:
        raise HalfDoneError(f"{record.identity}: {error}. {ways_out(record)}") from error


def _ledger_of(client: PravegaClient, sink: Sink) -> CommitLedger:
    return client.commit_ledger(*ledger_name(sink.ledger, StreamName.parse(sink.target).scope))


def _holds(table: HoldsIntervals, sink: Sink, record: CutRecord) -> bool:
    landing = landing_of(record.range, record.consumer, record.interval, sink.generation)
    held = table.held(landing)
    return held is not None and held.range == record.range and held.generation >= sink.generation
