"""What the controller's failures become: the class says who can help, the message names the thing and the remedy."""

import grpc
import pytest

from aiopravega import errors
from aiopravega.control import Access, RetentionPolicy, ScalingPolicy, StreamConfiguration
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.names import SegmentId, StreamName

STREAM = StreamName("examples", "orders")
SEGMENT = SegmentId(STREAM, 0, 0)
ONE_SEGMENT = StreamConfiguration(ScalingPolicy.fixed(1), RetentionPolicy.none())
Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "details", "error", "words"),
    [
        (Code.UNAUTHENTICATED, "", errors.AuthenticationError, "username and password"),
        (Code.PERMISSION_DENIED, "Authorization failed", errors.PermissionDeniedError, "do not allow this"),
        (Code.NOT_FOUND, "get entry: …", errors.StreamNotFoundError, "does not exist"),
        (Code.ALREADY_EXISTS, "", errors.AlreadyExistsError, "exists already"),
        (Code.INVALID_ARGUMENT, "no", errors.ConfigurationError, "an argument"),
        (Code.UNIMPLEMENTED, "", errors.ProtocolError, "Is it the controller"),
    ],
)
async def test_a_failure_that_repeating_cannot_help_is_raised_at_once(serve, connect, code, details, error, words):
    server = serve({"getCurrentSegments": [(code, details)]})

    with pytest.raises(error, match=words) as raised:
        await connect(server.port).current_segments(STREAM)

    assert not raised.value.retryable
    assert "list the segments of stream examples/orders at tcp://127.0.0.1" in str(raised.value)
    assert (f"({details})" in str(raised.value)) is (bool(details) and code is not Code.NOT_FOUND)
    assert "no details" not in str(raised.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "details", "error", "words"),
    [
        (Code.INTERNAL, "Stream: orders State: SCALING", errors.ServerError, "INTERNAL.*SCALING"),
        (Code.UNKNOWN, "lock failed", errors.ServerError, "UNKNOWN.*lock failed"),
        (Code.PERMISSION_DENIED, "Stream: orders is being updated", errors.ServerError, "being updated"),
        (Code.FAILED_PRECONDITION, "write conflict", errors.ServerError, "write conflict"),
        (Code.RESOURCE_EXHAUSTED, "", errors.ServerError, "RESOURCE_EXHAUSTED"),
        (Code.DEADLINE_EXCEEDED, "", errors.PravegaTimeoutError, "no answer within 60 s"),
        (Code.UNAVAILABLE, "shutting down", errors.PravegaConnectionError, "shutting down.*is running"),
    ],
)
async def test_a_failure_that_can_pass_is_raised_as_such_in_the_end(serve, connect, code, details, error, words):
    server = serve({"getCurrentSegments": [(code, details)]})

    with pytest.raises(error, match=words) as raised:
        await connect(server.port, retry_timeout=0).current_segments(STREAM)

    assert raised.value.retryable


@pytest.mark.parametrize(
    ("call", "method", "code", "details", "error", "words"),
    [
        (lambda c: c.create_transaction(STREAM, 5), "createTransaction", Code.UNKNOWN,
         "lease should be greater than minimum lease", errors.ConfigurationError, "lease of 5 ms.*10 s to 600 s"),
        (lambda c: c.create_transaction(STREAM, 30_000), "createTransaction", Code.INTERNAL,
         "Stream: orders State: SEALED", errors.StreamSealedError, "is sealed"),
        (lambda c: c.segments_between(STREAM, {SEGMENT: 1}, {SEGMENT: 0}), "getSegmentsBetween", Code.UNKNOWN, "",
         errors.InvalidRangeError, "before the start"),
        (lambda c: c.segments_between(STREAM, {SEGMENT: 0}, {SEGMENT: 0}), "getSegmentsBetween", Code.NOT_FOUND,
         "get entry: key: epochRecord-7", errors.InvalidStreamCutError, "never had"),
        (lambda c: c.epoch_segments(STREAM, 7), "getEpochSegments", Code.NOT_FOUND, "get entry: key: epochRecord-7",
         errors.NotFoundError, "epoch 7.*no such epoch"),
        (lambda c: c.list_streams("nowhere"), "listStreamsInScope", Code.NOT_FOUND, "", errors.ScopeNotFoundError,
         "nowhere"),
        (lambda c: c.successors(SEGMENT), "getSegmentsImmediatelyFollowing", Code.NOT_FOUND, "",
         errors.SegmentNotFoundError, "orders/0"),
        (lambda c: c.table_segments("examples", "ledger"), "getCurrentSegmentsKeyValueTable", Code.NOT_FOUND, "",
         errors.TableNotFoundError, "examples/ledger"),
        (lambda c: c.delegation_token(STREAM, Access.WRITE), "getDelegationToken", Code.PERMISSION_DENIED,
         "Authorization failed", errors.PermissionDeniedError, "WRITE access to examples/orders"),
    ],
)  # fmt: skip
async def test_some_failures_mean_something_only_in_one_call(serve, connect, call, method, code, details, error, words):
    server = serve({method: [(code, details)]})

    with pytest.raises(error, match=words) as raised:
        await call(connect(server.port))

    assert type(raised.value) is error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("call", "method", "answer", "error", "words"),
    [
        (lambda c: c.create_scope("a b"), "createScope", pb.CreateScopeStatus(status="INVALID_SCOPE_NAME"),
         errors.ConfigurationError, "scope a b"),
        (lambda c: c.create_scope("new"), "createScope", pb.CreateScopeStatus(status="FAILURE"),
         errors.ServerError, "scope new.*FAILURE"),
        (lambda c: c.delete_scope("full"), "deleteScope", pb.DeleteScopeStatus(status="SCOPE_NOT_EMPTY"),
         errors.ScopeNotEmptyError, "scope full.*delete its streams"),
        (lambda c: c.list_streams("gone"), "listStreamsInScope", pb.StreamsInScopeResponse(status="SCOPE_NOT_FOUND"),
         errors.ScopeNotFoundError, "gone"),
        (lambda c: c.create_stream(STREAM, ONE_SEGMENT), "createStream",
         pb.CreateStreamStatus(status="SCOPE_NOT_FOUND"), errors.ScopeNotFoundError, "orders.*create it first"),
        (lambda c: c.update_stream(STREAM, ONE_SEGMENT), "updateStream", pb.UpdateStreamStatus(status="STREAM_SEALED"),
         errors.StreamSealedError, "examples/orders"),
        (lambda c: c.seal_stream(STREAM), "sealStream", pb.UpdateStreamStatus(status="STREAM_NOT_FOUND"),
         errors.StreamNotFoundError, "examples/orders"),
        (lambda c: c.delete_stream(STREAM), "deleteStream", pb.DeleteStreamStatus(status="STREAM_NOT_SEALED"),
         errors.StreamNotSealedError, "examples/orders.*seal it first"),
        (lambda c: c.truncate_stream(STREAM, {SEGMENT: 9}), "truncateStream", pb.UpdateStreamStatus(status="FAILURE"),
         errors.InvalidStreamCutError, "examples/orders.*0.#epoch.0: 9.*before the head"),
        (lambda c: c.note_time(STREAM, "w", 5, {SEGMENT: 9}), "noteTimestampFromWriter",
         pb.TimestampResponse(result="INVALID_TIME"), errors.ConfigurationError, "writer w of stream examples/orders"),
        (lambda c: c.note_time(STREAM, "w", 5, {SEGMENT: 9}), "noteTimestampFromWriter",
         pb.TimestampResponse(result="INVALID_POSITION"), errors.InvalidStreamCutError, "position"),
        (lambda c: c.create_table("s", "t", 1, 8), "createKeyValueTable",
         pb.CreateKeyValueTableStatus(status="INVALID_TABLE_NAME"), errors.ConfigurationError, "s/t"),
        (lambda c: c.delete_table("s", "t"), "deleteKeyValueTable", pb.DeleteKVTableStatus(status="FAILURE"),
         errors.ServerError, "s/t"),
        (lambda c: c.list_tables("s"), "listKeyValueTablesInScope",
         pb.KVTablesInScopeResponse(status="SCOPE_NOT_FOUND"), errors.ScopeNotFoundError, "scope s"),
    ],
)  # fmt: skip
async def test_a_refusal_names_what_it_is_about(serve, connect, call, method, answer, error, words):
    server = serve({method: [answer]})

    with pytest.raises(error, match=words):
        await call(connect(server.port))


@pytest.mark.parametrize(
    ("call", "method", "answer"),
    [
        (lambda c: c.create_scope("s"), "createScope", pb.CreateScopeStatus(status="SCOPE_EXISTS")),
        (lambda c: c.delete_scope("s"), "deleteScope", pb.DeleteScopeStatus(status="SCOPE_NOT_FOUND")),
        (lambda c: c.create_stream(STREAM, ONE_SEGMENT), "createStream", pb.CreateStreamStatus(status="STREAM_EXISTS")),
        (lambda c: c.delete_stream(STREAM), "deleteStream", pb.DeleteStreamStatus(status="STREAM_NOT_FOUND")),
        (lambda c: c.create_table("s", "t", 1, 8), "createKeyValueTable",
         pb.CreateKeyValueTableStatus(status="TABLE_EXISTS")),
        (lambda c: c.delete_table("s", "t"), "deleteKeyValueTable", pb.DeleteKVTableStatus(status="TABLE_NOT_FOUND")),
        (lambda c: c.table_exists("s", "t"), "getKeyValueTableConfiguration",
         pb.KeyValueTableConfigResponse(status="TABLE_NOT_FOUND")),
    ],
)  # fmt: skip
async def test_what_exists_already_is_false_and_not_an_error(serve, connect, call, method, answer):
    server = serve({method: [answer]})

    assert await call(connect(server.port)) is False


async def test_a_status_from_the_future_says_that_the_client_is_too_old(serve, connect):
    server = serve({"createScope": [pb.CreateScopeStatus(status=99)]})  # type: ignore[arg-type]  # not in the enum

    with pytest.raises(errors.ProtocolError, match=r"99.*newer client"):
        await connect(server.port).create_scope("s")


async def test_of_a_stack_trace_only_the_beginning_is_shown(serve, connect):
    trace = "controllerStackTrace=java.lang.IllegalStateException: broken\n\tat io.pravega.Secret(Secret.java:1)"
    server = serve({"getCurrentSegments": [(Code.INTERNAL, trace)]})

    with pytest.raises(errors.ServerError) as raised:
        await connect(server.port, retry_timeout=0).current_segments(STREAM)

    assert "java.lang.IllegalStateException: broken" in str(raised.value)
    assert "Secret" not in str(raised.value)


async def test_truncating_at_an_unknown_epoch_is_not_called_an_unknown_stream(serve, connect):
    server = serve(
        {
            "truncateStream": [pb.UpdateStreamStatus(status="STREAM_NOT_FOUND")],
            "checkStreamExists": [pb.ExistsResponse(exists=True)],
        }
    )

    with pytest.raises(errors.InvalidStreamCutError, match="examples/orders"):
        await connect(server.port).truncate_stream(STREAM, {SEGMENT: 0})
