"""Calls: time limits, retries, several event loops, cancelling, closing, and credentials that stay secret."""

import asyncio
import socket
import threading
import traceback
from uuid import UUID

import grpc
import pytest

from aiopravega import PravegaConfig, errors
from aiopravega.control import Controller, PingStatus
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.names import SegmentId, StreamName
from aiopravega.net import Endpoint

STREAM = StreamName("examples", "orders")
SEGMENT = SegmentId(STREAM, 0, 0)
BUSY = (grpc.StatusCode.UNAVAILABLE, "starting")
YES = pb.ExistsResponse(exists=True)


@pytest.fixture
def silent_port():
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port():
    """A port where nobody listens: bound, so that no other test gets it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def test_a_call_is_repeated_until_it_succeeds(serve, connect):
    server = serve({"checkScopeExists": [BUSY, (grpc.StatusCode.INTERNAL, ""), (grpc.StatusCode.UNKNOWN, "lock"), YES]})

    assert await connect(server.port).scope_exists("s")
    assert len(server.requests) == 4


async def test_repeated_calls_ask_for_the_same(serve, connect):
    server = serve({"getURI": [BUSY, pb.NodeUri(endpoint="store", port=6000)]})

    assert await connect(server.port).endpoint(SEGMENT) == Endpoint("store", 6000)
    first, second = (pb.SegmentId.FromString(request) for request in server.calls("getURI"))
    assert first == second
    assert first.streamInfo.stream == "orders"


async def test_without_time_for_retries_the_first_failure_counts(serve, connect):
    server = serve({"checkScopeExists": [BUSY, YES]})

    with pytest.raises(errors.PravegaConnectionError, match="starting"):
        await connect(server.port, retry_timeout=0).scope_exists("s")


async def test_a_controller_that_comes_later_is_found(serve, connect, caplog):
    caplog.set_level("INFO", "aiopravega.retry")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    waiting = asyncio.create_task(connect(port, retry_timeout=60).scope_exists("s"))
    while "trying again" not in caplog.text:
        await asyncio.sleep(0.01)
        assert not waiting.done()

    serve({"checkScopeExists": [YES]}, port=port)

    assert await waiting


async def test_a_missing_server_is_reported_with_the_address(free_port, connect):
    controller = connect(free_port, retry_timeout=0)

    with pytest.raises(errors.PravegaConnectionError, match=rf"tcp://127\.0\.0\.1:{free_port}.*controller is running"):
        await controller.scope_exists("s")


async def test_an_unknown_host_is_said_by_its_name(connect):
    controller = connect(9090, host="no-such-host.invalid", retry_timeout=0)

    with pytest.raises(errors.PravegaConnectionError, match=r"no-such-host\.invalid.*name of the host is not known"):
        await controller.scope_exists("s")


async def test_connecting_without_a_server_ends_after_the_time_to_connect(free_port, connect):
    with pytest.raises(errors.PravegaConnectionError, match=f"connect to the controller at .*:{free_port}"):
        await connect(free_port, connect_timeout=0.3).ping()


async def test_a_silent_server_is_left_after_the_time_to_connect(silent_port, connect):
    controller = connect(silent_port, connect_timeout=0.5, request_timeout=100, retry_timeout=100)

    with pytest.raises(errors.PravegaTimeoutError, match="no answer"):
        await controller.ping()


async def test_a_silent_server_is_left_after_the_time_of_a_request(silent_port, connect):
    controller = connect(silent_port, request_timeout=0.2, retry_timeout=0)

    with pytest.raises(errors.PravegaTimeoutError, match=r"no answer within 0\.2 s"):
        await controller.scope_exists("s")


async def test_an_account_without_rights_on_a_scope_can_still_connect(serve, connect):
    server = serve({"checkScopeExists": [(grpc.StatusCode.PERMISSION_DENIED, "Authorization failed")]})

    await connect(server.port).ping()


async def test_wrong_credentials_are_found_on_connecting(serve, connect):
    server = serve({"checkScopeExists": [(grpc.StatusCode.UNAUTHENTICATED, "")]})

    with pytest.raises(errors.AuthenticationError, match="connect to the controller"):
        await connect(server.port).ping()


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, None),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({"token": "abc.def"}, "Bearer abc.def"),
    ],
)
async def test_credentials_go_with_every_call(serve, connect, settings, sent):
    server = serve({"checkScopeExists": [YES]})
    controller = connect(server.port, **settings)

    await controller.ping()
    await controller.scope_exists("s")

    assert [metadata.get("authorization") for metadata in server.metadata] == [sent, sent]


def test_a_token_that_cannot_be_sent_is_refused_without_showing_it():
    token = f"{UUID(int=1)}\n"
    with pytest.raises(errors.ConfigurationError, match="line break") as raised:
        Controller(PravegaConfig(controller_uri="tcp://host:9090", token=token))

    assert token.strip() not in "".join(traceback.format_exception(raised.value))


async def test_an_error_does_not_show_the_credentials(serve, connect):
    token = str(UUID(int=1))
    server = serve({"checkScopeExists": [(grpc.StatusCode.UNAUTHENTICATED, "")]})

    with pytest.raises(errors.AuthenticationError) as raised:
        await connect(server.port, token=token).ping()

    assert token not in "".join(traceback.format_exception(raised.value))


async def test_many_calls_share_one_connection_at_the_same_time(serve, connect):
    server = serve({"checkScopeExists": [YES]})
    controller = connect(server.port)

    assert all(await asyncio.gather(*(controller.scope_exists(str(number)) for number in range(200))))


async def test_a_controller_serves_several_event_loops_at_once(serve, connect):
    server = serve({"checkScopeExists": [YES]})
    controller = connect(server.port)
    answers = []

    async def ask():
        answers.extend([await controller.scope_exists("s") for _ in range(20)])

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    await ask()
    for thread in threads:
        thread.join()

    assert answers == [True] * 100


async def test_a_cancelled_call_leaves_the_connection_usable(serve, connect):
    release = threading.Event()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(_):
        loop.call_soon_threadsafe(started.set)
        release.wait(30)
        return YES

    server = serve({"checkScopeExists": [slow, YES]})
    controller = connect(server.port, request_timeout=60)
    call = asyncio.create_task(controller.scope_exists("s"))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()

    assert await controller.scope_exists("s")


async def test_closing_ends_calls_and_says_so(silent_port, connect):
    controller = connect(silent_port, request_timeout=60, retry_timeout=60)
    call = asyncio.create_task(controller.scope_exists("s"))
    await asyncio.sleep(0)  # let it start; it need not have started
    await controller.close()
    await controller.close()

    with pytest.raises(errors.PravegaError, match="this client is closed"):
        await call
    with pytest.raises(errors.PravegaError, match="this client is closed"):
        await controller.ping()


async def test_a_loop_that_ends_during_a_call_does_no_harm(serve, connect):
    release = threading.Event()

    def slow(_):
        release.wait(30)
        return YES

    server = serve({"checkScopeExists": [slow, YES]})
    controller = connect(server.port, request_timeout=60)

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(controller.scope_exists("s"), 0.2)

    await asyncio.to_thread(asyncio.run, give_up())
    release.set()

    assert await controller.scope_exists("s")


async def test_lists_are_read_page_by_page_until_an_empty_one(serve, connect):
    def page(token, *streams):
        return pb.StreamsInScopeResponse(
            streams=[pb.StreamInfo(scope="s", stream=stream) for stream in streams],
            continuationToken=pb.ContinuationToken(token=token),
        )

    server = serve({"listStreamsInScope": [page("1", "b", "_MARKb"), page("2", "a", "_MARKa"), page("3")]})

    assert await connect(server.port).list_streams("s") == [StreamName("s", "a"), StreamName("s", "b")]
    asked = [pb.StreamsInScopeRequest.FromString(request) for request in server.calls("listStreamsInScope")]
    assert [request.continuationToken.token for request in asked] == ["", "1", "2"]


@pytest.mark.parametrize("last", ["", "1"])
async def test_a_list_ends_when_its_token_leads_nowhere(serve, connect, last):
    pages = [
        pb.ScopesResponse(scopes=["b"], continuationToken=pb.ContinuationToken(token="1")),
        pb.ScopesResponse(scopes=["a", "_system"], continuationToken=pb.ContinuationToken(token=last)),
    ]
    server = serve({"listScopes": pages})

    assert await connect(server.port).list_scopes() == ["a", "b"]
    assert len(server.requests) == 2


async def test_a_lost_answer_to_a_scaling_does_not_make_it_fail(serve, connect):
    scaled = pb.SegmentRanges(
        segmentRanges=[
            pb.SegmentRange(segmentId=pb.SegmentId(segmentId=1 << 32 | number), minKey=low, maxKey=low + 0.5)
            for number, low in ((1, 0.0), (2, 0.5))
        ]
    )
    server = serve({"scale": [BUSY, pb.ScaleResponse(status="PRECONDITION_FAILED")], "getCurrentSegments": [scaled]})
    controller = connect(server.port)

    await controller.scale(STREAM, [SEGMENT], [(0.0, 0.5), (0.5, 1.0)], timeout=5)
    with pytest.raises(errors.ScalingError, match="another scaling"):
        await controller.scale(STREAM, [SEGMENT], [(0.0, 0.4), (0.4, 1.0)], timeout=5)


async def test_a_scaling_that_takes_too_long_is_a_timeout_and_continues(serve, connect):
    server = serve({"scale": [pb.ScaleResponse(status="STARTED", epoch=3)], "checkScale": [pb.ScaleStatusResponse()]})

    with pytest.raises(errors.PravegaTimeoutError, match=r"examples/orders.*continues"):
        await connect(server.port).scale(STREAM, [SEGMENT], [(0.0, 1.0)], timeout=0.1)
    assert pb.ScaleStatusRequest.FromString(server.calls("checkScale")[0]).epoch == 3


async def test_a_ping_returns_its_answer(serve, connect):
    server = serve({"pingTransaction": [pb.PingTxnStatus(status="LEASE_TOO_LARGE"), pb.PingTxnStatus()]})
    controller = connect(server.port)
    txn = UUID(int=1)

    assert await controller.ping_transaction(STREAM, txn, 10**9) is PingStatus.LEASE_TOO_LARGE
    assert await controller.ping_transaction(STREAM, txn, 30_000) is PingStatus.OK
