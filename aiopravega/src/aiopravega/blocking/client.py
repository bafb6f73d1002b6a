"""The blocking client; see `aiopravega.client` for what the calls mean."""

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from aiopravega import client as asynchronous
from aiopravega.blocking.cut_ledger import CutLedger
from aiopravega.blocking.ledger import CommitLedger
from aiopravega.blocking.tables import KeyValueTable
from aiopravega.blocking.times import TimeCalls
from aiopravega.blocking.writes import EventWriter, Transaction, TransactionHandle
from aiopravega.config import PravegaConfig
from aiopravega.control import Controller, RetentionPolicy, ScalingPolicy
from aiopravega.cuts import SegmentRange, StreamCut, StreamCutRange
from aiopravega.ledger import CUT_TABLE, DEFAULT_TABLE
from aiopravega.loop import LoopThread
from aiopravega.names import SegmentId, StreamName
from aiopravega.net import Endpoint
from aiopravega.read import Event, EventPointer, Order
from aiopravega.store import SegmentInfo
from aiopravega.write.transaction import DEFAULT_LEASE

T = TypeVar("T")


class PravegaClient(TimeCalls):
    """A blocking client of one Pravega cluster; use it with `with`. See `aiopravega.client.PravegaClient`."""

    def __init__(self, config: PravegaConfig | None = None) -> None:
        self.config = config or PravegaConfig()
        self._loop = LoopThread.shared()
        self._client = self._loop.run(self._make())

    async def _make(self) -> asynchronous.PravegaClient:
        return asynchronous.PravegaClient(self.config)

    def __enter__(self) -> Self:
        self._loop.run(self._client.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._loop.run(self._client.close())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine of the asynchronous client's parts, such as a call of `controller`."""
        return self._loop.run(coroutine)

    @property
    def asynchronous(self) -> asynchronous.PravegaClient:
        """The client that does the work, for coroutines that `run` waits for."""
        return self._client

    @property
    def controller(self) -> Controller:
        """The controller's calls, to be awaited with `run`."""
        return self._client.controller

    def create_scope(self, scope: str) -> bool:
        """Make a scope; returns False if it exists already."""
        return self._loop.run(self._client.create_scope(scope))

    def delete_scope(self, scope: str) -> bool:
        """Delete an empty scope; returns False if there was none."""
        return self._loop.run(self._client.delete_scope(scope))

    def list_scopes(self) -> list[str]:
        """The names of all scopes that these credentials may see."""
        return self._loop.run(self._client.list_scopes())

    def list_streams(self, scope: str, tag: str | None = None) -> list[StreamName]:
        """The streams of a scope, or those with a tag."""
        return self._loop.run(self._client.list_streams(scope, tag))

    def create_stream(
        self,
        scope: str,
        stream: str,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        timestamp_aggregation_timeout: timedelta = timedelta(),
    ) -> bool:
        """Make a stream; returns False if it exists already."""
        return self._loop.run(
            self._client.create_stream(scope, stream, scaling, retention, tags, timestamp_aggregation_timeout)
        )

    def stream_exists(self, scope: str, stream: str) -> bool:
        """Whether there is such a stream."""
        return self._loop.run(self._client.stream_exists(scope, stream))

    def is_sealed(self, scope: str, stream: str) -> bool:
        """Whether a stream has been sealed: it then has no segment that takes events."""
        return self._loop.run(self._client.is_sealed(scope, stream))

    def seal_stream(self, scope: str, stream: str) -> None:
        """End a stream: it can be read, but takes no more events."""
        self._loop.run(self._client.seal_stream(scope, stream))

    def delete_stream(self, scope: str, stream: str) -> bool:
        """Seal and delete a stream; returns False if there was none."""
        return self._loop.run(self._client.delete_stream(scope, stream))

    def truncate_stream(self, cut: StreamCut) -> None:
        """Remove all events before a cut, for good."""
        self._loop.run(self._client.truncate_stream(cut))

    def scale_stream(self, scope: str, stream: str, segments: int) -> None:
        """Replace the current segments by `segments` ones of equal width."""
        self._loop.run(self._client.scale_stream(scope, stream, segments))

    def head(self, scope: str, stream: str) -> StreamCut:
        """The first cut that can still be read."""
        return self._loop.run(self._client.head(scope, stream))

    def tail(self, scope: str, stream: str) -> StreamCut:
        """The cut behind the last event that is written now."""
        return self._loop.run(self._client.tail(scope, stream))

    def resolve(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """Replace unbounded ends of a range by head and tail."""
        return self._loop.run(self._client.resolve(wanted, stream))

    def plan(self, wanted: StreamCutRange, stream: StreamName | None = None) -> list[SegmentRange]:
        """The ranges of bytes between two cuts, checked against the stream."""
        return self._loop.run(self._client.plan(wanted, stream))

    def split(
        self,
        wanted: StreamCutRange,
        parts: int | None = None,
        stream: StreamName | None = None,
        *,
        max_bytes: int | None = None,
    ) -> list[StreamCutRange]:
        """Up to `parts` ranges of about equal size, or of about `max_bytes`, that together are this one."""
        return self._loop.run(self._client.split(wanted, parts, stream, max_bytes=max_bytes))

    def split_segments(self, wanted: Mapping[SegmentRange, int]) -> list[SegmentRange]:
        """Split ranges of segments into so many pieces each, or fewer; they stay in order."""
        return self._loop.run(self._client.split_segments(wanted))

    def next_cut(self, start: StreamCut, max_bytes: int, end: StreamCut | None = None) -> StreamCut:
        """A cut between events about `max_bytes` ahead of `start`, but not beyond `end` (None: the tail)."""
        return self._loop.run(self._client.next_cut(start, max_bytes, end))

    def distance(self, start: StreamCut, end: StreamCut) -> int:
        """Bytes between two cuts."""
        return self._loop.run(self._client.distance(start, end))

    def compare(self, one: StreamCut, other: StreamCut) -> Order:
        """Whether `one` is before `other`, the same place, behind it, or neither."""
        return self._loop.run(self._client.compare(one, other))

    def overlaps(self, one: StreamCutRange, other: StreamCutRange) -> bool:
        """Whether any bytes lie in both ranges."""
        return self._loop.run(self._client.overlaps(one, other))

    def intersection(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange | None:
        """The range of all that lies in both ranges; None if nothing does."""
        return self._loop.run(self._client.intersection(one, other))

    def union(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange:
        """The range of all that lies in one of two ranges, between which no gap may be."""
        return self._loop.run(self._client.union(one, other))

    def clip(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """What retention has left of a range."""
        return self._loop.run(self._client.clip(wanted, stream))

    def read(self, wanted: StreamCutRange, stream: StreamName | None = None) -> Iterator[Event]:
        """The events of a range."""
        return self._loop.iterate(self._client.read(wanted, stream))

    def fetch(self, pointer: EventPointer | str) -> Event:
        """The event that a pointer, or its text, points to."""
        return self._loop.run(self._client.fetch(pointer))

    def subscribe(
        self, scope: str, stream: str, name: str, cut: StreamCut | None = None, *, between_events: bool = False
    ) -> None:
        """Have retention wait for a subscriber that needs nothing before `cut` (None: the head)."""
        self._loop.run(self._client.subscribe(scope, stream, name, cut, between_events=between_events))

    def report(self, scope: str, stream: str, name: str, cut: StreamCut, *, between_events: bool = False) -> None:
        """Tell that a subscriber needs nothing before `cut` any more."""
        self._loop.run(self._client.report(scope, stream, name, cut, between_events=between_events))

    def subscribers(self, scope: str, stream: str) -> list[str]:
        """The names of a stream's subscribers."""
        return self._loop.run(self._client.subscribers(scope, stream))

    def unsubscribe(self, scope: str, stream: str, name: str) -> bool:
        """End a subscription; returns False if there was none."""
        return self._loop.run(self._client.unsubscribe(scope, stream, name))

    def writer(self, scope: str, stream: str, *, writer_id: str | None = None) -> EventWriter:
        """A writer; use it with `with`. `writer_id`: under which it notes times (else its own)."""
        return EventWriter(self._loop, self._client.writer(scope, stream, writer_id=writer_id))

    def transaction(
        self, scope: str, stream: str, *, lease: float = DEFAULT_LEASE, writer_id: str | None = None
    ) -> Transaction:
        """A transaction for `with`: it commits at the end of the block, and aborts if the block raises."""
        return self.open_transaction(scope, stream, lease=lease, writer_id=writer_id)

    def open_transaction(
        self, scope: str, stream: str, *, lease: float = DEFAULT_LEASE, writer_id: str | None = None
    ) -> Transaction:
        """A transaction that stays open until `commit`, `abort` or `detach`."""
        opening = self._client.open_transaction(scope, stream, lease=lease, writer_id=writer_id)
        return Transaction(self._loop, self._loop.run(opening))

    def attach_transaction(
        self, scope: str, stream: str, txn_id: UUID, *, writer_id: str | None = None
    ) -> TransactionHandle:
        """A transaction that somebody else opened."""
        return TransactionHandle(
            self._loop, self._client.attach_transaction(scope, stream, txn_id, writer_id=writer_id)
        )

    def create_table(self, scope: str, table: str, *, key_length: int, partitions: int = 1) -> bool:
        """Make a key-value table; returns False if it exists already."""
        return self._loop.run(self._client.create_table(scope, table, key_length=key_length, partitions=partitions))

    def table(self, scope: str, table: str) -> KeyValueTable:
        """Access to a key-value table."""
        return KeyValueTable(self._loop, self._client.table(scope, table))

    def commit_ledger(self, scope: str, table: str = DEFAULT_TABLE) -> CommitLedger:
        """The commit ledger in a key-value table: what exactly-once writes have written."""
        return CommitLedger(self._loop, self._client.controller, self._client.commit_ledger(scope, table))

    def cut_ledger(self, scope: str, table: str = CUT_TABLE) -> CutLedger:
        """The cut ledger in a key-value table: which range belongs to which interval of a consumer."""
        return CutLedger(self._loop, self._client.cut_ledger(scope, table))

    # --- what bulk readers need: they have sockets of their own ---------------------------------------------

    def segment_info(self, segment: SegmentId) -> SegmentInfo:
        """Head, tail and state of a segment."""
        return self._loop.run(self._client.store.info(segment))

    def locate(self, segment: SegmentId, *, again: bool = False) -> tuple[Endpoint, str]:
        """The owner of a segment and a token to read it; `again` after either has turned out to be stale."""
        return self._loop.run(self._client.store.locate(segment, again=again))
