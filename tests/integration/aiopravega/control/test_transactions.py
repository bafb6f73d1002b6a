"""Transactions on the real server, in every state that they can have."""

import asyncio
import time
import uuid

import pytest

from aiopravega import errors
from aiopravega.control import PingStatus, TransactionState
from aiopravega.names import StreamName

LEASE = 30_000
SHORTEST_LEASE = 10_000


@pytest.fixture
async def stream(make_stream):
    return await make_stream(segments=2)


async def wait_for(controller, stream, txn, state):
    deadline = time.monotonic() + 60
    while (found := await controller.transaction_state(stream, txn)) is not state:
        assert time.monotonic() < deadline, f"the transaction is {found}"
        await asyncio.sleep(0.05)


async def test_a_transaction_opens_on_the_current_segments(controller, stream):
    txn, segments = await controller.create_transaction(stream, LEASE)

    assert segments == await controller.current_segments(stream)
    assert await controller.transaction_state(stream, txn) is TransactionState.OPEN
    assert await controller.ping_transaction(stream, txn, LEASE) is PingStatus.OK


async def test_a_commit_can_be_repeated_but_not_taken_back(controller, stream):
    txn, _ = await controller.create_transaction(stream, LEASE)

    await controller.commit_transaction(stream, txn)
    await controller.commit_transaction(stream, txn)
    await wait_for(controller, stream, txn, TransactionState.COMMITTED)
    await controller.commit_transaction(stream, txn)

    assert await controller.ping_transaction(stream, txn, LEASE) is PingStatus.COMMITTED
    with pytest.raises(errors.TransactionError, match="COMMITTED"):
        await controller.abort_transaction(stream, txn)


async def test_an_abort_can_be_repeated_but_not_taken_back(controller, stream):
    txn, _ = await controller.create_transaction(stream, LEASE)

    await controller.abort_transaction(stream, txn)
    await controller.abort_transaction(stream, txn)
    await wait_for(controller, stream, txn, TransactionState.ABORTED)
    await controller.abort_transaction(stream, txn)

    assert await controller.ping_transaction(stream, txn, LEASE) is PingStatus.ABORTED
    with pytest.raises(errors.TransactionAbortedError, match=str(txn)):
        await controller.commit_transaction(stream, txn)


async def test_a_transaction_whose_lease_ran_out_is_aborted(controller, stream):
    txn, _ = await controller.create_transaction(stream, SHORTEST_LEASE)

    await wait_for(controller, stream, txn, TransactionState.ABORTED)

    assert await controller.ping_transaction(stream, txn, LEASE) is PingStatus.ABORTED
    with pytest.raises(errors.TransactionAbortedError, match="lease"):
        await controller.commit_transaction(stream, txn)
    await controller.abort_transaction(stream, txn)


async def test_a_ping_without_a_lease_aborts(controller, stream):
    txn, _ = await controller.create_transaction(stream, LEASE)

    assert await controller.ping_transaction(stream, txn, 0) is PingStatus.OK

    await wait_for(controller, stream, txn, TransactionState.ABORTED)


async def test_a_lease_that_the_cluster_does_not_take_is_refused(controller, stream):
    for lease in (SHORTEST_LEASE - 1, 600_001):
        with pytest.raises(errors.ConfigurationError, match=f"lease of {lease} ms"):
            await controller.create_transaction(stream, lease)

    txn, _ = await controller.create_transaction(stream, LEASE)
    assert await controller.ping_transaction(stream, txn, 600_001) is PingStatus.LEASE_TOO_LARGE


@pytest.mark.parametrize("exists", [True, False], ids=["stream-exists", "no-stream"])
async def test_a_transaction_that_never_was_is_unknown(controller, stream, exists):
    stream = stream if exists else StreamName(stream.scope, "nowhere")
    txn = uuid.uuid4()

    assert await controller.transaction_state(stream, txn) is TransactionState.UNKNOWN
    assert await controller.ping_transaction(stream, txn, LEASE) is PingStatus.UNKNOWN
    for finish in (controller.commit_transaction, controller.abort_transaction):
        with pytest.raises(errors.TransactionError, match=f"{txn}.*does not know it"):
            await finish(stream, txn)


async def test_a_commit_notes_the_time_of_its_writer(controller, stream):
    txn, segments = await controller.create_transaction(stream, LEASE)

    await controller.commit_transaction(stream, txn, "writer", 100)
    await wait_for(controller, stream, txn, TransactionState.COMMITTED)

    with pytest.raises(errors.ConfigurationError, match="time 99 of writer writer"):
        await controller.note_time(stream, "writer", 99, {entry.segment: 0 for entry in segments})


async def test_a_scaling_leaves_an_open_transaction_open(controller, stream):
    txn, segments = await controller.create_transaction(stream, LEASE)
    await controller.scale(stream, [segments[0].segment], [(0.0, 0.25), (0.25, 0.5)], timeout=300)
    parts = [(entry.low, entry.high) for entry in await controller.current_segments(stream)]

    await controller.commit_transaction(stream, txn)
    await wait_for(controller, stream, txn, TransactionState.COMMITTED)

    # The commit makes two epochs: one of the shape in which the transaction began, and one as before the commit.
    current = await controller.current_segments(stream)
    assert [(entry.low, entry.high) for entry in current] == parts
    assert {entry.segment.epoch for entry in current} == {3}


async def test_sealing_the_stream_aborts_open_transactions(controller, stream):
    txn, _ = await controller.create_transaction(stream, LEASE)

    await controller.seal_stream(stream)

    await wait_for(controller, stream, txn, TransactionState.ABORTED)
