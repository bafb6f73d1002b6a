"""Blocking writers of a segment store that is gone: nothing passes for durable, and errors come where one waits."""

import uuid
from collections.abc import Iterator

import pytest

from aiopravega import PravegaConfig
from aiopravega.blocking import EventWriter, Transaction
from aiopravega.control import Controller, KeyRange
from aiopravega.errors import PravegaConnectionError, PravegaError
from aiopravega.loop import LoopThread
from aiopravega.names import SegmentId, StreamName
from aiopravega.net import Endpoint
from aiopravega.store import SegmentStore
from aiopravega.write import transaction as aio
from aiopravega.write import writer as aio_writer

STREAM = StreamName("examples", "orders")
SEGMENTS = [KeyRange(SegmentId(STREAM, 0, 0), 0.0, 1.0)]
# Nothing listens at this port.
GONE = Endpoint("127.0.0.1", 1)


class FixedStream(Controller):
    """Knows one stream, whose segment store is gone; of transactions it knows nothing."""

    async def current_segments(self, stream: StreamName) -> list[KeyRange]:
        return SEGMENTS

    async def endpoint(self, segment: SegmentId) -> Endpoint:
        return GONE


def write_for_ever(writer: EventWriter | Transaction) -> None:
    while True:
        writer.write(bytes(1024 * 1024))


@pytest.fixture
def controller() -> Controller:
    return FixedStream(PravegaConfig(controller_uri="tcp://127.0.0.1:1", retry_timeout=0.0, request_timeout=1.0))


@pytest.fixture
def store(controller) -> SegmentStore:
    config = PravegaConfig(controller_uri="tcp://127.0.0.1:1", retry_timeout=0.0, request_timeout=1.0)
    return SegmentStore(config, controller)


@pytest.fixture
def writer(controller, store) -> EventWriter:
    async def make() -> aio_writer.EventWriter:
        return aio_writer.EventWriter(controller, store, STREAM)

    return EventWriter(LoopThread.shared(), LoopThread.shared().run(make()))


@pytest.fixture
def transaction(controller, store) -> Iterator[Transaction]:
    async def make() -> aio.Transaction:
        return aio.Transaction(controller, store, STREAM, uuid.uuid4(), SEGMENTS, 60.0, "orders")

    made = Transaction(LoopThread.shared(), LoopThread.shared().run(make()))
    yield made
    made.detach()


def test_flush_raises_why_events_are_not_durable(writer):
    writer.__enter__()
    writer.write(b"lost", "key")
    for _ in range(2):
        with pytest.raises(PravegaConnectionError):
            writer.flush()
    with pytest.raises(PravegaConnectionError):
        writer.close()


def test_the_end_of_the_block_raises_why_events_are_not_durable(writer):
    with pytest.raises(PravegaConnectionError), writer:
        writer.write(b"lost")


def test_a_later_write_raises_the_connection_error(writer):
    with pytest.raises(PravegaConnectionError), writer:
        write_for_ever(writer)


def test_an_error_of_the_block_is_the_one_that_is_raised(writer):
    def write_and_fail() -> None:
        with writer:
            writer.write(b"lost")
            raise LookupError

    with pytest.raises(LookupError):
        write_and_fail()


def test_closing_raises_the_error_and_a_closed_writer_refuses_events(writer):
    writer.__enter__()
    writer.write(b"lost")
    with pytest.raises(PravegaConnectionError):
        writer.close()
    writer.close()
    with pytest.raises(PravegaError):
        writer.write(b"late")


def test_a_writer_that_is_not_open_takes_nothing(writer):
    with pytest.raises(PravegaError, match="is not open"):
        writer.write(b"early")


def test_a_transaction_is_not_committed_without_its_events_nor_kept_open(transaction):
    transaction.write(b"lost", "key")
    with pytest.raises(PravegaConnectionError):
        transaction.commit()
    assert transaction.asynchronous._keeper.cancelled()


def test_a_transaction_raises_at_the_end_of_its_block(transaction):
    with pytest.raises(PravegaConnectionError), transaction:
        transaction.write(b"lost")


def test_a_later_write_to_a_transaction_raises_the_connection_error(transaction):
    with pytest.raises(PravegaConnectionError):
        write_for_ever(transaction)
