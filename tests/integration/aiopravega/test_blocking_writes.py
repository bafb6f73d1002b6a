"""Single events of the blocking client on the real server: every event once, in order, and errors where they belong."""

import threading
import uuid
from collections import defaultdict

import pytest

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient, Transaction
from aiopravega.blocking.event_queue import BATCH_EVENTS
from aiopravega.control import TransactionState
from aiopravega.errors import PravegaError, StreamSealedError, TransactionAbortedError

KEYS = [f"customer-{number}" for number in range(20)]


@pytest.fixture
def client(pravega_config: PravegaConfig):
    with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
def stream(client) -> StreamName:
    name = StreamName(f"blocking-{uuid.uuid4().hex}", "stream")
    client.create_scope(name.scope)
    client.create_stream(name, ScalingPolicy.fixed(2))
    return name


def content(client: PravegaClient, stream: StreamName) -> list[bytes]:
    return [event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)]


def by_key(events: list[bytes]) -> dict[str, list[int]]:
    """The numbers of events `key:number`, in the order of reading."""
    numbers = defaultdict(list)
    for event in events:
        key, number = event.decode().rsplit(":", 1)
        numbers[key].append(int(number))
    return dict(numbers)


def test_events_of_a_key_stay_in_order_while_the_stream_scales(client, stream):
    rounds = 3 * BATCH_EVENTS // len(KEYS)
    with client.writer(stream) as writer:
        for number in range(rounds):
            for key in KEYS:
                writer.write(f"{key}:{number}".encode(), key)
            if number in (rounds // 3, 2 * rounds // 3):
                client.scale_stream(stream, 3)
    assert by_key(content(client, stream)) == {key: list(range(rounds)) for key in KEYS}


def test_threads_share_a_writer_and_each_has_its_events_in_order(client, stream):
    with client.writer(stream) as writer:

        def write(key: str) -> None:
            for number in range(BATCH_EVENTS):
                writer.write(f"{key}:{number}".encode(), key)
                if number == BATCH_EVENTS // 2:
                    writer.flush()

        threads = [threading.Thread(target=write, args=(key,)) for key in KEYS[:4]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert by_key(content(client, stream)) == {key: list(range(BATCH_EVENTS)) for key in KEYS[:4]}


def test_single_events_keep_their_place_among_lists_of_events(client, stream):
    with client.writer(stream) as writer:
        writer.write(b"key:0", "key")
        writer.write_many([b"key:1", b"key:2"], ["key"] * 2)
        writer.write(b"key:3", "key")
        writer.flush()
        assert by_key(content(client, stream)) == {"key": [0, 1, 2, 3]}
        writer.write(b"key:4", "key")
    assert by_key(content(client, stream)) == {"key": [0, 1, 2, 3, 4]}


def test_a_time_is_noted_after_the_events_before_it(client, stream):
    with client.writer(stream, writer_id="me") as writer:
        writer.write(b"old", "key")
        writer.note_time(100)
        assert content(client, stream) == [b"old"]
    mark = next(client.watermarks(stream, follow=True))
    assert mark.lower == 100


def test_close_waits_for_what_is_pending(client, stream):
    writer = client.writer(stream).__enter__()
    for number in range(100):
        writer.write(f"key:{number}".encode(), "key")
    writer.close()
    assert by_key(content(client, stream)) == {"key": list(range(100))}
    with pytest.raises(PravegaError, match="is not open"):
        writer.write(b"late")
    writer.close()


def test_a_sealed_stream_refuses_what_was_written_to_it(client, stream):
    writer = client.writer(stream).__enter__()
    writer.write(b"good")
    writer.flush()
    client.seal_stream(stream)
    writer.write(b"refused")
    with pytest.raises(StreamSealedError):
        writer.flush()
    with pytest.raises(StreamSealedError):
        writer.write(b"refused, too")
    with pytest.raises(StreamSealedError):
        writer.close()
    assert content(client, stream) == [b"good"]


def test_a_transaction_keeps_the_order_of_events_and_shows_them_together(client, stream):
    with client.transaction(stream) as transaction:
        for number in range(2 * BATCH_EVENTS):
            transaction.write(f"key:{number}".encode(), "key")
        transaction.note_time(100)
        transaction.flush()
        assert content(client, stream) == []
    assert by_key(content(client, stream)) == {"key": list(range(2 * BATCH_EVENTS))}


def test_a_block_that_raises_aborts_its_transaction(client, stream):
    begun: list[Transaction] = []

    def write_and_fail() -> None:
        with client.transaction(stream) as transaction:
            begun.append(transaction)
            transaction.write(b"never seen", "key")
            raise LookupError

    with pytest.raises(LookupError):
        write_and_fail()
    assert begun[0].state() in (TransactionState.ABORTING, TransactionState.ABORTED)
    assert content(client, stream) == []


def test_a_transaction_that_somebody_aborts_is_not_committed(client, stream):
    transaction = client.open_transaction(stream)
    transaction.write(b"first", "key")
    transaction.flush()
    client.attach_transaction(stream, transaction.txn_id).abort()

    def write_for_ever() -> None:
        with transaction:
            while True:
                transaction.write(b"more", "key")
                transaction.flush()

    with pytest.raises(TransactionAbortedError):
        write_for_ever()
    assert content(client, stream) == []


def test_any_process_with_the_id_can_commit_a_detached_transaction(client, stream):
    transaction = client.open_transaction(stream)
    transaction.write(b"event", "key")
    transaction.flush()
    transaction.detach()
    client.attach_transaction(stream, transaction.txn_id).commit(wait=60)
    assert content(client, stream) == [b"event"]
