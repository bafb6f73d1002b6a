"""A transaction is kept open for as long as the server grants, whatever its settings are."""

from uuid import UUID

import pytest

from aiopravega.control import hold_transaction
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.errors import PravegaConnectionError, TransactionAbortedError, TransactionError
from aiopravega.names import StreamName

STREAM = StreamName("examples", "orders")
TXN = UUID(int=7)


def answer(status: str) -> pb.PingTxnStatus:
    return pb.PingTxnStatus(status=status)


def leases(server) -> list[int]:
    """The milliseconds that were asked for."""
    return [pb.PingTxnRequest.FromString(request).lease for request in server.calls("pingTransaction")]


async def test_the_longest_lease_is_asked_for_first(serve, connect):
    server = serve({"pingTransaction": [answer("OK")]})

    assert await hold_transaction(connect(server.port), STREAM, TXN) == 600.0
    assert leases(server) == [600_000]


@pytest.mark.parametrize("refusal", ["LEASE_TOO_LARGE", "MAX_EXECUTION_TIME_EXCEEDED"])
async def test_shorter_leases_follow_where_that_is_too_long(serve, connect, refusal):
    server = serve({"pingTransaction": [answer(refusal), answer(refusal), answer("OK"), answer(refusal), answer("OK")]})

    assert await hold_transaction(connect(server.port), STREAM, TXN) == 206.25
    assert leases(server) == [600_000, 300_000, 150_000, 225_000, 187_500, 206_250]


async def test_the_longest_lease_that_a_controller_allows_is_found_out_once(serve, connect):
    too_large = answer("LEASE_TOO_LARGE")
    server = serve({"pingTransaction": [*[too_large] * 6, *[answer("OK")] * 2, too_large, too_large, answer("OK")]})
    controller = connect(server.port)

    first = await hold_transaction(controller, STREAM, TXN)
    second = await hold_transaction(controller, STREAM, TXN)

    assert first == second == 14.0625
    assert leases(server)[-4:] == [14_062, 16_406, 15_234, 14_062]


async def test_a_transaction_near_its_longest_life_leaves_others_as_they_are(serve, connect):
    exceeded = answer("MAX_EXECUTION_TIME_EXCEEDED")
    server = serve({"pingTransaction": [exceeded, answer("OK")]})
    controller = connect(server.port)

    await hold_transaction(controller, STREAM, TXN)
    assert await hold_transaction(controller, STREAM, TXN) == 600.0


async def test_below_the_shortest_lease_there_is_nothing_left_to_ask_for(serve, connect):
    server = serve({"pingTransaction": [answer("MAX_EXECUTION_TIME_EXCEEDED")]})

    with pytest.raises(TransactionError, match="MAX_EXECUTION_TIME_EXCEEDED"):
        await hold_transaction(connect(server.port), STREAM, TXN)
    assert min(leases(server)) >= 5_000


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("ABORTED", TransactionAbortedError),
        ("COMMITTED", TransactionError),
        ("UNKNOWN", TransactionError),
        ("DISCONNECTED", PravegaConnectionError),
    ],
)
async def test_a_transaction_that_cannot_be_kept_says_why(serve, connect, status, error):
    server = serve({"pingTransaction": [answer(status)]})

    with pytest.raises(error, match=str(TXN)):
        await hold_transaction(connect(server.port), STREAM, TXN)
    assert len(leases(server)) == 1
