"""The client's calls about ledgers: a part of `aiopravega.client.PravegaClient`."""

from collections.abc import Awaitable, Callable

from aiopravega.control import Controller
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.errors import InvalidStreamCutError, MixedRangeError
from aiopravega.ledger.commits.contents import CommitState
from aiopravega.ledger.commits.leases import Keepers
from aiopravega.ledger.commits.ledger import DEFAULT_TABLE, CommitLedger, ledger_name
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.ledger.commits.table import Tail
from aiopravega.ledger.commits.visibility import wait_visible
from aiopravega.ledger.intervals.cut_ledger import CUT_TABLE, CutLedger
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream

Plan = Callable[[StreamCutRange], Awaitable[list[SegmentRange]]]


class LedgerCalls:
    """Part of `PravegaClient`."""

    controller: Controller
    store: SegmentStore
    _keepers: Keepers
    _tail_of: Tail
    _plan_of: Plan

    def commit_ledger(self, scope: str, table: str = DEFAULT_TABLE) -> CommitLedger:
        """The commit ledger in a key-value table: the records of exactly-once writes."""
        return CommitLedger(self.controller, self.store, self._tail_of, scope, table, self._keepers)

    @takes_stream
    async def written(
        self, stream: StreamName | str, write_id: str, *, ledger: str | None = None
    ) -> list[CommitRecord]:
        """The records of an exactly-once write: one for each generation that is done, the first one first.

        A record has the generation, the cuts before and after its events, and their number. The newest is the last. The
        list is empty if the ledger does not know the write, or knows it of a deleted stream of this name only.

        Args:
            stream: that was written to: a StreamName, or a text `scope/stream`.
            write_id: the name of the write.
            ledger: `scope/table` of the commit ledger; None: the one in the stream's scope.

        Raises:
            StreamNotFoundError: the stream does not exist.
            TableNotFoundError: the ledger does not exist.
            ConfigurationError: `stream` or `ledger` is not a name.
        """
        sink = StreamName.of(stream)
        found = await self.commit_ledger(*ledger_name(ledger, sink.scope)).owner(sink, write_id)
        if found is None or found.record.incarnations.get(sink) != (await self.controller.first_segment(sink)).number:
            return []
        return [record.of(sink) for record in found.record.generations if record.state is CommitState.DONE]

    @takes_stream
    async def visible_write(
        self,
        stream: StreamName | str,
        write_id: str,
        *,
        ledger: str | None = None,
        generation: int | None = None,
        within: float = 0.0,
    ) -> CommitRecord:
        """The record of an exactly-once write that readers see as a whole, in all of its streams.

        Streams do not change at one moment: while a write into several is committed, a reader may see its events in one
        of them and not yet in another. From the time at which this returns, readers see all of them.

        Args:
            stream: any stream of the write: a StreamName, or a text `scope/stream`.
            write_id: the name of the write.
            ledger: `scope/table` of the commit ledger; None: the one in the stream's scope.
            generation: of the write; None: the newest.
            within: for how many seconds to wait.

        Raises:
            NotVisibleError: it is not visible as a whole, or the ledger does not know it, also after that time.
            StreamNotFoundError: the stream does not exist.
            TableNotFoundError: the ledger does not exist.
            ConfigurationError: `stream` or `ledger` is not a name.
        """
        name = StreamName.of(stream)
        table = self.commit_ledger(*ledger_name(ledger, name.scope))
        return await wait_visible(self.controller, table, name, write_id, generation, within)

    async def range_of_write(self, record: CommitRecord) -> StreamCutRange:
        """The range of a finished write, with its events and no others; checked by bytes, no event is read.

        Of a write into several streams it is the range of the first one: `record.of(stream)` is the record of each.

        Raises:
            MixedRangeError: others wrote to the stream at the same time.
            InvalidStreamCutError: the record has no cuts: its writer may not read them, or did not wait for its events.
            StreamTruncatedError: retention has removed some of them.
            StreamMadeAgainError: the stream was deleted and made again since.
        """
        record = record.of(record.sink)
        cuts = record.cuts
        if cuts is None or UNBOUNDED in (cuts.start, cuts.end):
            raise InvalidStreamCutError(
                f"{record.name}: its record has no cuts: its account may not read them, or it did not wait until "
                "readers saw its events (read_after_write_consistency=false)"
            )
        return await self.range_of(cuts, record.total_bytes, record.name)

    async def range_of(self, cuts: StreamCutRange, size: int, what: str) -> StreamCutRange:
        """The same range if it has exactly `size` bytes, event headers included; `what` names their write in errors.

        If the write has no events, it is an empty range at the same start.

        Raises:
            MixedRangeError: there are more bytes.
            StreamTruncatedError: retention has removed some.
            PravegaError: the cuts do not fit the stream.
        """
        if not size:
            return StreamCutRange(cuts.start, cuts.start)
        found = sum(part.size for part in await self._plan_of(cuts))
        if found != size:
            raise MixedRangeError(
                f"{what} has {size:,} bytes, and between its cuts are {found:,}: others wrote to {cuts.stream} while "
                "it committed, so a reader of this range would get their events, too. Give each such write a stream of "
                "its own; or have them done one after another, by exactly-once writes with one commit ledger that wait "
                "until readers see the events, and write this one again as its next generation (rebuild); or read with "
                "the two cuts as start and end, if the other events may be among them"
            )
        return cuts

    def cut_ledger(self, scope: str, table: str = CUT_TABLE) -> CutLedger:
        """The cut ledger in a key-value table: the ranges of the intervals of consumers."""
        return CutLedger(self.controller, self.store, scope, table)
