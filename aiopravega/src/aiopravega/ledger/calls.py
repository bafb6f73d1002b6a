"""The client's calls about ledgers: a part of `aiopravega.client.PravegaClient`."""

from aiopravega.control import Controller
from aiopravega.ledger.commits.leases import Keepers
from aiopravega.ledger.commits.ledger import DEFAULT_TABLE, CommitLedger, ledger_name
from aiopravega.ledger.commits.record import CommitRecord, CommitState
from aiopravega.ledger.commits.table import Tail
from aiopravega.ledger.intervals.cut_ledger import CUT_TABLE, CutLedger
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream


class LedgerCalls:
    """Part of `PravegaClient`."""

    controller: Controller
    store: SegmentStore
    _keepers: Keepers
    _tail_of: Tail

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
        found = await self.commit_ledger(*ledger_name(ledger, sink.scope)).lookup(sink, write_id)
        if found is None or found.record.incarnation != (await self.controller.first_segment(sink)).number:
            return []
        return [record for record in found.record.generations if record.state is CommitState.DONE]

    def cut_ledger(self, scope: str, table: str = CUT_TABLE) -> CutLedger:
        """The cut ledger in a key-value table: the ranges of the intervals of consumers."""
        return CutLedger(self.controller, self.store, scope, table)
