"""The blocking client."""

from typing import Self

from aiopravega import client as aio
from aiopravega.blocking.bridge import OpenFace, calls, iterates, waits
from aiopravega.blocking.follow import Follower
from aiopravega.blocking.ledger import CommitLedger, CutLedger, KeyValueTable
from aiopravega.blocking.writes import EventWriter, OpeningTransaction, Transaction, TransactionHandle
from aiopravega.config import PravegaConfig
from aiopravega.control import Controller
from aiopravega.loop import LoopThread
from aiopravega.names import SegmentId
from aiopravega.net import Endpoint
from aiopravega.read.arithmetic import Arithmetic
from aiopravega.store import SegmentStore


class PravegaClient(OpenFace[aio.PravegaClient]):
    """A client of one Pravega cluster; use it with `with`.

    Every call has a time limit, and repeats after failures that can pass; the configuration sets both.

    Raises:
        PravegaConnectionError: on entering, when no controller answers.
        AuthenticationError: on entering, when the credentials are wrong.
    """

    def __init__(self, config: PravegaConfig | None = None) -> None:
        self.config = config or PravegaConfig()

        async def make() -> aio.PravegaClient:
            return aio.PravegaClient(self.config)

        loop = LoopThread.shared()
        super().__init__(loop, loop.run(make()))

    @classmethod
    def of(cls, loop: LoopThread, asynchronous: aio.PravegaClient) -> Self:
        """The blocking form of a client of asyncio that a loop's thread runs."""
        client = cls.__new__(cls)
        client.config = asynchronous.config
        OpenFace.__init__(client, loop, asynchronous)
        return client

    close = waits(aio.PravegaClient.close)

    # --- parts of the asyncio API, whose coroutines `run` waits for -----------------------------------------

    @property
    def controller(self) -> Controller:
        """The controller's calls."""
        return self.asynchronous.controller

    @property
    def store(self) -> SegmentStore:
        """Single requests to segment stores."""
        return self.asynchronous.store

    @property
    def arithmetic(self) -> Arithmetic:
        """Calculations with the cuts of one stream, with few calls."""
        return self.asynchronous.arithmetic

    def locate(self, segment: SegmentId, *, again: bool = False) -> tuple[Endpoint, str]:
        """The owner of a segment and a token to read it; `again` after either has turned out to be stale.

        For `aiopravega.read.bulk.BulkReader`, which has sockets of its own.
        """
        return self.run(self.store.locate(segment, again=again))

    # --- scopes and streams ---------------------------------------------------------------------------------

    create_scope = waits(aio.PravegaClient.create_scope)
    delete_scope = waits(aio.PravegaClient.delete_scope)
    list_scopes = waits(aio.PravegaClient.list_scopes)
    list_streams = waits(aio.PravegaClient.list_streams)
    create_stream = waits(aio.PravegaClient.create_stream)
    stream_exists = waits(aio.PravegaClient.stream_exists)
    is_sealed = waits(aio.PravegaClient.is_sealed)
    seal_stream = waits(aio.PravegaClient.seal_stream)
    delete_stream = waits(aio.PravegaClient.delete_stream)
    check_cut = waits(aio.PravegaClient.check_cut)
    truncate_stream = waits(aio.PravegaClient.truncate_stream)
    scale_stream = waits(aio.PravegaClient.scale_stream)

    # --- cuts, ranges, events -------------------------------------------------------------------------------

    head = waits(aio.PravegaClient.head)
    tail = waits(aio.PravegaClient.tail)
    resolve = waits(aio.PravegaClient.resolve)
    plan = waits(aio.PravegaClient.plan)
    split = waits(aio.PravegaClient.split)
    split_segments = waits(aio.PravegaClient.split_segments)
    next_cut = waits(aio.PravegaClient.next_cut)
    distance = waits(aio.PravegaClient.distance)
    compare = waits(aio.PravegaClient.compare)
    overlaps = waits(aio.PravegaClient.overlaps)
    intersection = waits(aio.PravegaClient.intersection)
    union = waits(aio.PravegaClient.union)
    clip = waits(aio.PravegaClient.clip)
    read = iterates(aio.PravegaClient.read)
    follow = calls(aio.PravegaClient.follow, Follower)
    fetch = waits(aio.PravegaClient.fetch)

    # --- event time -----------------------------------------------------------------------------------------

    note_time = waits(aio.PravegaClient.note_time)
    watermarks = iterates(aio.PravegaClient.watermarks)
    cut_at = waits(aio.PravegaClient.cut_at)
    range_for = waits(aio.PravegaClient.range_for)
    time_bounds = waits(aio.PravegaClient.time_bounds)
    time_span = waits(aio.PravegaClient.time_span)

    # --- subscribers ----------------------------------------------------------------------------------------

    subscribe = waits(aio.PravegaClient.subscribe)
    report = waits(aio.PravegaClient.report)
    subscribers = waits(aio.PravegaClient.subscribers)
    unsubscribe = waits(aio.PravegaClient.unsubscribe)

    # --- reader groups --------------------------------------------------------------------------------------

    reader_groups = waits(aio.PravegaClient.reader_groups)
    describe_reader_group = waits(aio.PravegaClient.describe_reader_group)
    create_reader_group = waits(aio.PravegaClient.create_reader_group)
    reset_reader_group = waits(aio.PravegaClient.reset_reader_group)
    publish_reader_group = waits(aio.PravegaClient.publish_reader_group)
    delete_reader_group = waits(aio.PravegaClient.delete_reader_group)
    reader_offline = waits(aio.PravegaClient.reader_offline)
    checkpoint_reader_group = waits(aio.PravegaClient.checkpoint_reader_group)

    # --- writes ---------------------------------------------------------------------------------------------

    writer = calls(aio.PravegaClient.writer, EventWriter)
    transaction = calls(aio.PravegaClient.transaction, OpeningTransaction)
    open_transaction = waits(aio.PravegaClient.open_transaction, Transaction)
    attach_transaction = calls(aio.PravegaClient.attach_transaction, TransactionHandle)

    # --- key-value tables -----------------------------------------------------------------------------------

    create_table = waits(aio.PravegaClient.create_table)
    list_tables = waits(aio.PravegaClient.list_tables)
    describe_table = waits(aio.PravegaClient.describe_table)
    delete_table = waits(aio.PravegaClient.delete_table)
    table = calls(aio.PravegaClient.table, KeyValueTable)
    commit_ledger = calls(aio.PravegaClient.commit_ledger, CommitLedger)
    written = waits(aio.PravegaClient.written)
    visible_write = waits(aio.PravegaClient.visible_write)
    read_visible = iterates(aio.PravegaClient.read_visible)
    range_of_write = waits(aio.PravegaClient.range_of_write)
    range_of = waits(aio.PravegaClient.range_of)
    cut_ledger = calls(aio.PravegaClient.cut_ledger, CutLedger)
