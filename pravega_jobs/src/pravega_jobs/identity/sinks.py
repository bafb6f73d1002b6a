"""Sinks of claims, asked by a take-over: is the write, the landing or the merge of an ended claimant done?

A sink that does not have the write is closed for it: a zombie of the old claimant must not commit afterwards. For a
commit ledger the question itself begins a new attempt, so that an older one cannot be decided. A table refuses the rows
of an interval whose range begins where another interval of the consumer begins.
"""

from collections.abc import Callable

from aiopravega.client import PravegaClient
from aiopravega.errors import HalfDoneError
from aiopravega.intervals.chain.take_over import AskSink, ways_out
from aiopravega.ledger import CutRecord, Sink
from aiopravega.names import StreamName
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.writes import finished_write

FindTable = Callable[[str], LandingTable | None]


def asking_sinks(client: PravegaClient, find_table: FindTable | None = None) -> AskSink:
    """A function that asks the sinks of a claim.

    Args:
        client: a connected client.
        find_table: the table of an identity, with its secrets; None: this caller does not have it.
    """

    async def ask(sink: Sink, record: CutRecord) -> bool:
        if sink.kind == "write":
            stream = StreamName.parse(sink.target)
            return await finished_write(client, stream, sink.id, sink.ledger, sink.generation) is not None
        table = None if find_table is None else find_table(sink.target)
        if table is None:
            raise HalfDoneError(
                f"{record.identity} may be in {sink.target}, which cannot be asked from here. {ways_out(record)}"
            )
        return _holds(table, sink, record)

    return ask


def _holds(table: LandingTable, sink: Sink, record: CutRecord) -> bool:
    landing = landing_of(record.range, record.consumer, record.interval, sink.generation)
    held = table.held(landing)
    return held is not None and held.range == record.range and held.generation >= sink.generation
