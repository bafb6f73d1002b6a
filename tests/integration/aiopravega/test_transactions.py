"""Transactions on the real server: events that are seen all at once, or never."""

import asyncio
import uuid
from collections import Counter

import pytest

from aiopravega import PravegaClient, wire
from aiopravega.control import TransactionState
from aiopravega.errors import EventTooLargeError, StreamNotFoundError, TransactionAbortedError, TransactionError
from aiopravega.write.batch import FramedBlock
from aiopravega.write.transaction import TransactionHandle


def data(events):
    return [event.data for event in events]


@pytest.fixture
def aborted(eventually):
    """Waits until a transaction is aborted."""

    async def wait(transaction: TransactionHandle) -> None:
        async def is_aborted() -> bool:
            return await transaction.state() is TransactionState.ABORTED

        await eventually(is_aborted)

    return wait


async def test_events_are_seen_after_the_commit_and_not_before(client, make_stream, read_all):
    stream = await make_stream(3)
    async with client.transaction(stream) as transaction:
        await transaction.write_many(
            [b"%d" % number for number in range(100)], [str(number % 7) for number in range(100)]
        )
        await transaction.flush()
        assert await read_all(stream) == []

    assert Counter(data(await read_all(stream))) == Counter(b"%d" % number for number in range(100))


async def test_an_error_in_the_block_aborts(client, make_stream, read_all, aborted):
    stream = await make_stream()
    opened = []

    async def fail() -> None:
        async with client.transaction(stream) as transaction:
            opened.append(transaction)
            await transaction.write(b"never seen")
            raise RuntimeError("in the block")

    with pytest.raises(RuntimeError, match="in the block"):
        await fail()
    await aborted(opened[0])
    assert await read_all(stream) == []


async def test_committing_again_is_harmless_and_aborting_then_is_refused(client, make_stream):
    stream = await make_stream()
    transaction = await client.open_transaction(stream)
    await transaction.write(b"x")
    await transaction.commit(wait=30)
    handle = client.attach_transaction(stream, transaction.txn_id)

    await handle.commit(wait=30)
    with pytest.raises(TransactionError, match="COMMITTED"):
        await handle.abort()


async def test_aborting_again_is_harmless_and_committing_then_is_refused(client, make_stream):
    stream = await make_stream()
    transaction = await client.open_transaction(stream)
    await transaction.abort()
    handle = client.attach_transaction(stream, transaction.txn_id)

    await handle.abort()
    with pytest.raises(TransactionAbortedError):
        await handle.commit()
    with pytest.raises(TransactionAbortedError):
        await handle.hold()


async def test_any_process_that_knows_the_id_can_commit(client, make_stream, read_all):
    stream = await make_stream(2)
    transaction = await client.open_transaction(stream)
    await transaction.write(b"x", routing_key="key")
    await transaction.flush()
    await transaction.detach()

    attached = client.attach_transaction(stream, transaction.txn_id)
    assert await attached.state() is TransactionState.OPEN
    assert await attached.hold() == 600.0
    await attached.commit(wait=30)

    assert data(await read_all(stream)) == [b"x"]


async def test_an_unknown_id_can_be_neither_committed_nor_kept(client, make_stream):
    stream = await make_stream()
    unknown = client.attach_transaction(stream, uuid.uuid4())

    assert await unknown.state() is TransactionState.UNKNOWN
    with pytest.raises(TransactionError):
        await unknown.commit()
    with pytest.raises(TransactionError):
        await unknown.hold()


async def test_blocks_go_to_their_segments_after_what_was_written_before(client, make_stream, read_all):
    stream = await make_stream(2)
    async with client.transaction(stream) as transaction:
        for lane, segment in enumerate(transaction.segments.segments):
            events = [f"{lane}:{number}".encode() for number in range(3)]
            await transaction.write_block(lane, FramedBlock(b"".join(wire.event_header(len(e)) + e for e in events), 3))
            assert segment.stream == stream

    found = await read_all(stream)
    for lane, segment in enumerate(transaction.segments.segments):
        assert data(event for event in found if event.segment == segment) == [b"%d:%d" % (lane, n) for n in range(3)]


async def test_events_of_0_bytes_and_of_8_mib_fit_and_larger_ones_do_not(client, make_stream, read_all):
    stream = await make_stream()
    events = [b"", b"x" * wire.MAX_EVENT, b""]
    async with client.transaction(stream) as transaction:
        await transaction.write_many(events)
        with pytest.raises(EventTooLargeError, match="8,388,609 bytes"):
            await transaction.write(b"x" * (wire.MAX_EVENT + 1))

    assert data(await read_all(stream)) == events


async def test_a_transaction_without_events_can_be_committed(client, make_stream, read_all):
    stream = await make_stream(4)
    async with client.transaction(stream):
        pass

    assert await read_all(stream) == []


async def test_the_lease_is_kept_while_the_transaction_is_open(client, make_stream, read_all):
    stream = await make_stream()
    async with client.transaction(stream, lease=10) as transaction:
        await transaction.write(b"x")
        await asyncio.sleep(16)  # longer than the lease, and than the server takes to notice

    assert data(await read_all(stream)) == [b"x"]


async def test_a_detached_transaction_ends_with_its_lease(client, make_stream, read_all, aborted):
    stream = await make_stream()
    transaction = await client.open_transaction(stream, lease=10)
    await transaction.write(b"x")
    await transaction.flush()
    await transaction.detach()

    await aborted(transaction)

    with pytest.raises(TransactionAbortedError):
        await client.attach_transaction(stream, transaction.txn_id).commit()
    assert await read_all(stream) == []


async def test_writing_into_a_transaction_that_somebody_aborted_says_so(client, make_stream, aborted):
    stream = await make_stream()
    transaction = await client.open_transaction(stream, lease=10)
    await client.attach_transaction(stream, transaction.txn_id).abort()
    await aborted(transaction)
    await transaction.write(b"x")

    with pytest.raises(TransactionAbortedError, match="lease"):
        await transaction.flush()
    await transaction.abort()


async def test_a_stream_that_scales_meanwhile_gets_the_events_after_newer_ones(client, make_stream, read_all):
    stream = await make_stream(2)
    async with client.transaction(stream) as transaction:
        await transaction.write(b"old", routing_key="key")
        await client.scale_stream(stream, 3)
        async with client.writer(stream) as writer:
            await writer.write(b"new", routing_key="key")
        await transaction.write(b"older still open", routing_key="key")

    assert data(await read_all(stream)) == [b"new", b"old", b"older still open"]


async def test_a_missing_stream_has_no_transactions(client, scope):
    with pytest.raises(StreamNotFoundError, match="missing"):
        await client.open_transaction(f"{scope}/missing")


async def test_the_lease_is_not_kept_by_a_client_that_is_closed(pravega_config, make_stream, eventually, caplog):
    stream = await make_stream()
    async with PravegaClient(pravega_config) as client:
        transaction = await client.open_transaction(stream, lease=10)

    async def is_left() -> bool:
        return not [task for task in asyncio.all_tasks() if "_keep_lease" in repr(task.get_coro())]

    await eventually(is_left)
    assert caplog.text.count(f"could not renew the lease of {transaction}") == 1


async def test_a_commit_that_fails_stops_keeping_the_lease(client, make_stream, aborted):
    stream = await make_stream()
    transaction = await client.open_transaction(stream, lease=10)
    await transaction.write(b"event")
    await client.attach_transaction(stream, transaction.txn_id).abort()
    await aborted(transaction)

    with pytest.raises(TransactionError):
        await transaction.commit()

    assert [task for task in asyncio.all_tasks() if "_keep_lease" in repr(task.get_coro())] == []
