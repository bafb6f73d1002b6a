"""Operations of Spark Connect, with a server of gRPC that answers as Spark's would in bad times."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]  # it has no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # the same
from grpc_status.rpc_status import to_status
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto.base_pb2_grpc import (
    SparkConnectServiceServicer,
    add_SparkConnectServiceServicer_to_server,
)

from aiopravega.errors import ConfigurationError, PravegaConnectionError, ServerError
from pravega_jobs.spark.connect import Following, Operation, OperationEnd
from pravega_jobs.spark.connect_server import check_url


@pytest.mark.parametrize("url", ["sc://spark", "sc://spark:15002", "sc://spark:15002/;use_ssl=true;user_id=ada"])
def test_a_url_of_a_server_without_secrets_can_be_stored(url):
    check_url(url)


@pytest.mark.parametrize("url", ["local[*]", "spark://spark:7077", "yarn"])
def test_only_a_server_continues_without_its_client(url):
    with pytest.raises(ConfigurationError, match="only a Spark Connect server"):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("sc://spark/;use_ssl=true;token=s3cret", "token"),
        ("sc://spark/;x-api-key=s3cret", "x-api-key"),
        ("sc://spark/;session_id=1", "session_id"),
        ("sc://spark/;s3cret", "a value without a name"),
        ("sc://ada:s3cret@spark", "a user"),
    ],
)
def test_a_url_with_what_may_be_secret_is_refused_by_name(url, named):
    with pytest.raises(ConfigurationError, match=f"has {named}, but it is stored") as refused:
        check_url(url)
    assert "s3cret" not in str(refused.value)


class Answers(SparkConnectServiceServicer):
    """Gives the next of its answers to each question, and the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def ReattachExecute(self, request: Any, context: Any) -> Any:  # noqa: N802  # the protocol names it
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, list):
            yield from answer
        else:
            answer(context)


@pytest.fixture
def followed():
    """Follows an operation of a server with these answers, as often as the connection is lost; 5 times at most."""
    server = grpc.server(ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")

    def followed(*answers):
        add_SparkConnectServiceServicer_to_server(Answers(*answers), server)
        server.start()
        following = Following(Operation(f"sc://127.0.0.1:{port}", "ada", "1", "2"), ["mine"], lambda _: None)
        for _ in range(5):
            try:
                return asyncio.run(following.end())
            except PravegaConnectionError as error:
                lost = error
        raise lost

    yield followed
    server.stop(0)


def aborts(code, text, **metadata):
    """An error of the server; with metadata, it is Spark's own."""

    def abort(context):
        if not metadata:
            context.abort(code, text)
        detail = AnyMessage()
        detail.Pack(ErrorInfo(reason="reason", domain="org.apache.spark", metadata=metadata))
        context.abort_with_status(to_status(Status(code=code.value[0], message=text, details=[detail])))

    return abort


def literals(*values):
    return [proto.Expression.Literal(long=value) for value in values]


def test_an_end_has_the_counts_that_were_asked_for_and_no_others(followed):
    observed, response = proto.ExecutePlanResponse.ObservedMetrics, proto.ExecutePlanResponse
    metrics = [
        observed(name="mine", keys=["events"], values=literals(7)),
        observed(name="of the user", keys=["email"], values=literals(1)),
        observed(name="__python_accumulator__", values=literals(1, 2)),  # of a profiler, without keys
    ]
    complete = response(result_complete=response.ResultComplete())
    end = followed([response(observed_metrics=metrics)], [complete])
    assert (end.has_ended_well, end.observed) == (True, {"mine": {"events": 7}})


def test_a_server_that_is_away_may_come_back(followed):
    complete = proto.ExecutePlanResponse(result_complete=proto.ExecutePlanResponse.ResultComplete())
    assert followed(*[aborts(grpc.StatusCode.UNAVAILABLE, "away")] * 4, [complete]).has_ended_well


def test_a_server_that_stays_away_is_never_the_end(followed):
    with pytest.raises(PravegaConnectionError, match="cannot be reached: away"):
        followed(aborts(grpc.StatusCode.UNAVAILABLE, "away"))


def test_an_error_without_a_reason_that_stays_is_the_end(followed):
    end = followed(aborts(grpc.StatusCode.UNKNOWN, "java.lang.OutOfMemoryError"))
    assert (end.has_ended_well, end.message) == (False, "java.lang.OutOfMemoryError")


def test_an_error_whose_details_are_refused_keeps_its_text(followed):
    end = followed(aborts(grpc.StatusCode.INTERNAL, "[PYTHON_EXCEPTION] no such number", errorId="1"))
    assert (end.has_ended_well, end.message) == (False, "[PYTHON_EXCEPTION] no such number")


def test_an_operation_whose_answers_are_gone_is_named_with_the_setting(followed):
    end = followed(aborts(grpc.StatusCode.INTERNAL, "[INVALID_CURSOR.POSITION_NOT_AVAILABLE] gone", errorClass="1"))
    assert (end.has_ended_well, "observerRetryBufferSize" in end.message) == (None, True)


def test_a_server_that_refuses_its_client_is_an_error(followed):
    with pytest.raises(ConfigurationError, match="SPARK_CONNECT_AUTHENTICATE_TOKEN"):
        followed(aborts(grpc.StatusCode.UNAUTHENTICATED, "no token"))


def test_a_proxy_after_an_outage_is_not_the_end(followed):
    complete = proto.ExecutePlanResponse(result_complete=proto.ExecutePlanResponse.ResultComplete())
    away, broken = aborts(grpc.StatusCode.UNAVAILABLE, "away"), aborts(grpc.StatusCode.INTERNAL, "stream was reset")
    assert followed(away, away, away, broken, [complete]).has_ended_well


def test_a_count_that_was_not_reported_is_no_zero():
    with pytest.raises(ServerError, match="has not reported 'events'"):
        OperationEnd(True).count("mine", "events")
