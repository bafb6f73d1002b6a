"""The asyncio client: one object per cluster, from which streams are made, read and written."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import timedelta
from itertools import pairwise
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from aiopravega.config import PravegaConfig
from aiopravega.control import (
    Controller,
    RetentionPolicy,
    ScalingPolicy,
    StreamConfiguration,
    TableConfiguration,
    delete_empty_scope,
    open_leased,
)
from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError, StreamNotFoundError
from aiopravega.event_time import TimeCalls
from aiopravega.groups import GroupCalls
from aiopravega.groups.subscribers import Subscribers
from aiopravega.ledger import Keepers
from aiopravega.ledger.calls import LedgerCalls
from aiopravega.names import StreamName, check_name
from aiopravega.read import Event, EventPointer, fetch_event
from aiopravega.read.calls import RangeCalls
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream
from aiopravega.tables import KeyValueTable
from aiopravega.write.transaction import DEFAULT_LEASE, Transaction, TransactionHandle
from aiopravega.write.writer import EventWriter


class PravegaClient(RangeCalls, TimeCalls, GroupCalls, LedgerCalls):
    """A client of one Pravega cluster; use it with `async with`.

    Every call has a time limit, and repeats after failures that can pass; the configuration sets both.

    Raises:
        PravegaConnectionError: on entering, when no controller answers.
        AuthenticationError: on entering, when the credentials are wrong.
    """

    def __init__(self, config: PravegaConfig | None = None) -> None:
        self.config = config or PravegaConfig()
        controller = Controller(self.config)
        super().__init__(controller, SegmentStore(self.config, controller))
        self._given_cuts = GivenCuts(self.controller, self.store, self._planner, self._splitter)
        self._subscribers = Subscribers(self.controller, self.store, self._given_cuts)
        self._keepers = Keepers()
        self._tail_of, self._plan_of = self._planner.tail, self._planner.plan
        # The id of all its transactions: for the stream's watermarks they are one writer.
        self._writer_id = str(uuid4())

    async def __aenter__(self) -> Self:
        try:
            await self.controller.ping()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        self._keepers.close()
        await self.store.close()
        await self.controller.close()

    # --- scopes and streams ---------------------------------------------------------------------------------

    async def create_scope(self, scope: str) -> bool:
        """Make a scope; returns False if it exists already."""
        return await self.controller.create_scope(check_name("scope", scope))

    async def delete_scope(self, scope: str) -> bool:
        """Delete an empty scope; returns False if there was none."""
        return await delete_empty_scope(self.controller, scope)

    async def list_scopes(self) -> list[str]:
        """The names of all scopes that these credentials may see."""
        return await self.controller.list_scopes()

    async def list_streams(self, scope: str, tag: str | None = None) -> list[StreamName]:
        """The streams of a scope, or those with a tag; Pravega's internal streams are left out."""
        return await self.controller.list_streams(scope, tag)

    @takes_stream
    async def create_stream(
        self,
        stream: StreamName | str,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        timestamp_aggregation_timeout: timedelta = timedelta(),
    ) -> bool:
        """Make a stream, by default of one segment and without retention; returns False if it exists already.

        Watermarks wait for a writer that has not noted a new time for up to `timestamp_aggregation_timeout`.
        """
        configuration = StreamConfiguration(
            scaling or ScalingPolicy.fixed(1),
            retention or RetentionPolicy.none(),
            tuple(tags),
            timestamp_aggregation_timeout,
        )
        name = StreamName.of(stream)
        check_name("stream", name.stream)
        return await self.controller.create_stream(name, configuration)

    @takes_stream
    async def stream_exists(self, stream: StreamName | str) -> bool:
        """Whether there is such a stream."""
        return await self.controller.stream_exists(StreamName.of(stream))

    @takes_stream
    async def is_sealed(self, stream: StreamName | str) -> bool:
        """Whether a stream has been sealed: it then has no segment that takes events."""
        return not await self.controller.current_segments(StreamName.of(stream))

    @takes_stream
    async def seal_stream(self, stream: StreamName | str) -> None:
        """End a stream: it can be read, but takes no more events."""
        await self.controller.seal_stream(StreamName.of(stream))

    @takes_stream
    async def delete_stream(self, stream: StreamName | str) -> bool:
        """Seal and delete a stream with all its events; returns False if there was none."""
        name = StreamName.of(stream)
        try:
            await self.controller.seal_stream(name)
        except StreamNotFoundError:
            return False
        return await self.controller.delete_stream(name)

    async def check_cut(self, cut: StreamCut) -> StreamCut:
        """A cut with the real offsets of ends of segments, checked: Pravega itself takes any, and truncates there.

        Whether it lies between events is read from the stream: up to 16 MiB a segment, unless it is the head or tail.

        Raises:
            InvalidStreamCutError: it does not fit the stream's segments, or lies inside an event.
            InvalidRangeError: it lies beyond the tail.
            StreamTruncatedError: it lies before the head.
            StreamNotFoundError: there is no such stream.
        """
        if cut.stream is None:
            raise ConfigurationError("cannot check an unbounded StreamCut: it names no stream")
        located = await self._given_cuts.located(cut.stream, cut)
        await self._given_cuts.check_between_events(located)
        return located

    async def truncate_stream(self, cut: StreamCut) -> None:
        """Remove all events before a cut forever; `check_cut` checks one that somebody gave."""
        if cut.stream is None:
            raise ConfigurationError("cannot truncate at an unbounded StreamCut")
        await self.controller.truncate_stream(cut.stream, cut.positions)

    @takes_stream
    async def scale_stream(self, stream: StreamName | str, segments: int) -> None:
        """Replace the current segments by `segments` segments of equal width, and wait until it is done."""
        if segments < 1:
            raise ConfigurationError(f"a stream cannot have {segments} segments")
        name = StreamName.of(stream)
        current = [entry.segment for entry in await self.controller.current_segments(name)]
        edges = [number / segments for number in range(segments + 1)]
        await self.controller.scale(name, current, list(pairwise(edges)), timeout=self.config.retry_timeout)

    # --- events and times; for cuts and ranges see aiopravega.read.calls ------------------------------------

    async def fetch(self, pointer: EventPointer | str) -> Event:
        """The event that a pointer, or its text, points to.

        Raises:
            ConfigurationError: the text is not that of a pointer.
            StreamNotFoundError: the stream was deleted.
            StreamTruncatedError: retention or a truncation removed the event.
            SegmentNotFoundError: the stream has no such segment.
            MalformedEventError: no such event is there.
        """
        parsed = EventPointer.from_text(pointer) if isinstance(pointer, str) else pointer
        return await fetch_event(self.controller, self.store, parsed)

    # --- writes ---------------------------------------------------------------------------------------------

    @takes_stream
    def writer(
        self, stream: StreamName | str, *, writer_id: str | None = None, large_events: bool = False
    ) -> EventWriter:
        """A writer of single events; use it with `async with`. It notes times as `writer_id`, by default a new id.

        A writer that restarts gives the same id, so that watermarks do not wait for the old writer. With `large_events`
        it takes events of up to 2 GiB, as the Java client does with `enableLargeEvents`; readers need memory for them.
        """
        return EventWriter(self.controller, self.store, StreamName.of(stream), writer_id, large_events=large_events)

    @takes_stream
    async def read_visible(
        self, stream: StreamName | str, write_id: str, *, ledger: str | None = None, within: float = 0.0
    ) -> AsyncGenerator[Event, None]:
        """The events of a write in a stream, if all is visible; it raises as `visible_write` and `range_of_write`."""
        record = await self.visible_write(stream, write_id, ledger=ledger, within=within)
        async with aclosing(self.read(await self.range_of_write(record.of(StreamName.of(stream))))) as events:
            async for event in events:
                yield event

    @takes_stream
    def transaction(
        self, stream: StreamName | str, *, lease: float = DEFAULT_LEASE, writer_id: str | None = None
    ) -> "OpeningTransaction":
        """A transaction for `async with`: it commits at the end of the block, and aborts if the block raises."""
        return OpeningTransaction(self, StreamName.of(stream), lease, writer_id)

    @takes_stream
    async def open_transaction(
        self, stream: StreamName | str, *, lease: float = DEFAULT_LEASE, writer_id: str | None = None
    ) -> Transaction:
        """A transaction that stays open until `commit`, `abort` or `detach`; `lease` is in seconds, of at least 10.

        A lease that is longer than the controller allows becomes the longest that it allows. The client renews it.
        Its commit notes a time as `writer_id`, by default one name for all transactions of this client.
        """
        name = StreamName.of(stream)
        txn_id, segments, granted = await open_leased(self.controller, name, lease)
        return Transaction(self.controller, self.store, name, txn_id, segments, granted, writer_id or self._writer_id)

    @takes_stream
    def attach_transaction(
        self, stream: StreamName | str, txn_id: UUID, *, writer_id: str | None = None
    ) -> TransactionHandle:
        """A transaction that somebody else opened, to commit it or to abort it; `writer_id`: see `open_transaction`."""
        return TransactionHandle(self.controller, StreamName.of(stream), txn_id, writer_id or self._writer_id)

    # --- key-value tables -----------------------------------------------------------------------------------

    async def create_table(
        self, scope: str, table: str, *, key_length: int, secondary_key_length: int = 0, partitions: int = 1
    ) -> bool:
        """Make a key-value table whose keys have `key_length` bytes; returns False if it exists already.

        With a `secondary_key_length`, so many more bytes follow. They do not decide the partition.
        """
        return await self.controller.create_table(
            scope, check_name("table", table), partitions, key_length, secondary_key_length
        )

    async def list_tables(self, scope: str) -> list[str]:
        """The names of the key-value tables of a scope, sorted; those of ledgers are among them.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        return await self.controller.list_tables(scope)

    async def describe_table(self, scope: str, table: str) -> TableConfiguration:
        """How a key-value table was made: its partitions, and the length of its keys.

        Raises:
            TableNotFoundError: there is no such table.
        """
        return await self.controller.table_configuration(scope, table)

    async def delete_table(self, scope: str, table: str) -> bool:
        """Delete a key-value table with all its entries; returns False if there was none."""
        return await self.controller.delete_table(scope, table)

    def table(self, scope: str, table: str) -> KeyValueTable:
        """Access to a key-value table."""
        return KeyValueTable(self.controller, self.store, scope, table)


class OpeningTransaction:
    """Opens the transaction on entering, so that `async with client.transaction(...)` needs no second await."""

    def __init__(self, client: PravegaClient, stream: StreamName, lease: float, writer_id: str | None) -> None:
        self._client = client
        self._name = stream
        self._lease = lease
        self._writer_id = writer_id
        self._transaction: Transaction | None = None

    async def __aenter__(self) -> Transaction:
        self._transaction = await self._client.open_transaction(
            self._name, lease=self._lease, writer_id=self._writer_id
        )
        return self._transaction

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transaction is not None:
            await self._transaction.__aexit__(kind, error, trace)
