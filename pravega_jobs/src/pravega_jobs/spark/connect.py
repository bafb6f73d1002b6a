"""Writes that a Spark Connect server runs on after its client has ended: begun here, followed and ended by another.

A server continues an operation whose client is gone, keeps its answers, and gives them to each client that knows the
names of session and operation (`ReattachExecute`). An operation that nobody has followed for
`spark.connect.execute.manager.detachedTimeout`, five minutes by default, is ended by the server.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import ConfigurationError, ServerError
from pravega_jobs.spark.connect_server import asynchronous_stub, check_admitted, load_client, stub_of, unreachable
from pravega_jobs.spark.progress import Stage
from pravega_jobs.spark.session import CONNECT_MODULE

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter

# The server ends each stream of answers after two minutes, and is asked again. A longer one has lost its connection.
_FOLLOW_SECONDS: Final = 300.0
_CALL_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 1.0
# The server has been started again, has ended the session, or has ended the operation since nobody has followed it.
_FORGOTTEN: Final = "[INVALID_HANDLE."
_DETACHED: Final = "spark.connect.execute.manager.detachedTimeout"
# The operation runs, but what it has answered first is gone, so that nobody can begin to follow it any more.
_OVERFLOWN: Final = "[INVALID_CURSOR.POSITION_"
_BUFFER: Final = "spark.connect.execute.reattachable.observerRetryBufferSize"
# Another process follows the operation, such as a triggerer that is ending.
_TAKEN: Final = "[INVALID_CURSOR.DISCONNECTED]"
_AWAY: Final = ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED")
# Errors without a reason come from proxies, which pass, and from a JVM that is out of memory, which repeats its own.
_MOST_UNEXPLAINED: Final = 3


@dataclass(frozen=True, slots=True)
class Operation:
    """The names by which a server knows an operation; all are texts, and none is a secret."""

    url: str
    user: str
    session: str
    operation: str

    def __str__(self) -> str:
        return f"operation {self.operation} of session {self.session} on {self.url}"


@dataclass(frozen=True, slots=True)
class OperationEnd:
    """The end of an operation.

    `has_ended_well` is None if the server does not know the operation any more. `message` says why it has failed, or is
    not known. `observed` has the values of each observation of its frame, by the observation's name.
    """

    has_ended_well: bool | None
    message: str = ""
    observed: dict[str, dict[str, Any]] = field(default_factory=dict)

    def count(self, observation: str, value: str) -> int:
        """The value of an observation that counts rows.

        Raises:
            ServerError: the server has not reported it.
        """
        try:
            return int(self.observed[observation][value])
        except KeyError as error:
            raise ServerError(
                f"the Spark Connect server has ended the operation well, but has not reported {value!r}, which it "
                "counts: what it has written is not known to be whole. Try again"
            ) from error


def begin(writer: "DataFrameWriter", url: str, path: str | None = None) -> Operation:
    """Have a server begin what `writer.save(path)` would do, and return while it works.

    From then on, `stop` of the session leaves it on the server, until `end`.

    Args:
        writer: the writer of a frame of a Spark Connect session.
        url: the server, as the session was made with it.
        path: of the files, if the write has any.

    Raises:
        ConfigurationError: the frame is of another Spark.
        PySparkException: the server refuses the write, or cannot be reached.
    """
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

    if not type(writer).__module__.startswith(CONNECT_MODULE):
        raise ConfigurationError(
            f"{url} is to work, but this process already runs another Spark, which is used instead: give the task a "
            "process of its own"
        )
    # PySpark has no public way to begin an operation and leave it; these are the steps of its own `save`.
    write: Any = writer._write  # type: ignore[attr-defined]  # noqa: SLF001  # it is not public
    session: Any = writer._spark  # noqa: SLF001  # it is not public
    client = session.client
    write.path = path
    request = client._execute_plan_request_with_metadata()  # noqa: SLF001  # it is not public
    request.plan.command.CopyFrom(write.command(client))
    metadata = client._builder.metadata()  # noqa: SLF001  # it is not public
    stub, retrying = client._stub, client._retrying  # noqa: SLF001  # it is not public
    answers: Any = ExecutePlanResponseReattachableIterator(request, stub, retrying, metadata)
    try:
        answers._has_next()  # noqa: SLF001  # it waits for the first answer, and does not let the server forget it
    except Exception as error:  # noqa: BLE001 - PySpark makes its own of it
        client._handle_error(error)  # noqa: SLF001  # it is not public
    session.release_session_on_close = False
    return Operation(url, request.user_context.user_id, request.session_id, request.operation_id)


class Following:
    """The answers to an operation, in order; after a connection was lost, `end` continues with the next one.

    Args:
        operation: the operation.
        observations: the names of the observations whose values count; others are the user's own.
        on_progress: gets the stages of Spark that are at work, several times a second.
    """

    def __init__(
        self, operation: Operation, observations: Collection[str], on_progress: Callable[[Iterable[Stage]], None]
    ) -> None:
        self._operation = operation
        self._names = observations
        self._on_progress = on_progress
        self._last_answer: str | None = None
        self._observed: dict[str, dict[str, Any]] = {}
        self._unexplained = 0

    async def end(self) -> OperationEnd:
        """Wait for the end of the operation.

        Raises:
            ConfigurationError: Spark's client is not installed here, or the server refuses it.
            PravegaConnectionError: the server cannot be reached.
        """
        await asyncio.to_thread(load_client)  # it takes seconds
        import grpc

        async with asynchronous_stub(self._operation.url) as (stub, metadata):
            while True:
                asked = stub.ReattachExecute(self._question(), metadata=metadata, timeout=_FOLLOW_SECONDS)
                try:
                    async for answer in asked:
                        self._unexplained = 0
                        self._last_answer = answer.response_id
                        self._take(answer)
                        if answer.HasField("result_complete"):
                            return OperationEnd(True, observed=self._observed)
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                        return await self._failed(stub, metadata, error)
                await asyncio.sleep(_PAUSE_SECONDS)

    def _question(self) -> Any:
        from pyspark.sql.connect.proto import ReattachExecuteRequest

        return ReattachExecuteRequest(
            **_names(self._operation), operation_id=self._operation.operation, last_response_id=self._last_answer
        )

    def _take(self, answer: Any) -> None:
        for each in answer.observed_metrics:
            if each.name in self._names:
                values = (getattr(value, value.WhichOneof("literal_type")) for value in each.values)
                self._observed.setdefault(each.name, {}).update(zip(each.keys, values, strict=True))
        stages = answer.execution_progress.stages
        if stages:
            self._on_progress([Stage(each.stage_id, each.num_completed_tasks, each.num_tasks) for each in stages])

    async def _failed(self, stub: Any, metadata: Any, error: Any) -> OperationEnd:
        from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]  # it has no types
        from grpc_status import rpc_status
        from pyspark.sql.connect.proto import FetchErrorDetailsRequest

        check_admitted(self._operation.url, error)
        text = error.details() or error.code().name
        status, info = rpc_status.from_call(error), ErrorInfo()
        is_explained = status is not None and any(each.Unpack(info) for each in status.details)
        is_away = not is_explained and error.code().name in _AWAY
        if not is_explained and not is_away:
            self._unexplained += 1
            is_away = self._unexplained < _MOST_UNEXPLAINED
        if is_away or text.startswith(_TAKEN):
            raise unreachable(self._operation.url, error) from error
        if text.startswith(_FORGOTTEN):
            return OperationEnd(
                None, f"{text} It was started again, or nobody has followed the operation for its {_DETACHED}"
            )
        if text.startswith(_OVERFLOWN):
            return OperationEnd(None, f"{text} It keeps the answers of an operation up to its {_BUFFER}")
        if "errorId" in info.metadata:
            # A status has the first 2,048 characters only; the error of a data source is at the end.
            question = FetchErrorDetailsRequest(**_names(self._operation), error_id=info.metadata["errorId"])
            with suppress(type(error)):  # Spark has none for a cause without a message
                details = await stub.FetchErrorDetails(question, metadata=metadata, timeout=_CALL_SECONDS)
                text = "\n".join(each.message for each in details.errors) or text
        return OperationEnd(False, text, self._observed)


def end(operation: Operation) -> None:
    """End the session of an operation, and the operation with it, if it still runs; safe to repeat.

    Raises:
        ConfigurationError: Spark's client is not installed here, or the server refuses it.
        PravegaConnectionError: the server cannot be reached.
    """
    load_client()
    import grpc
    from pyspark.sql.connect.proto import ReleaseSessionRequest

    with stub_of(operation.url) as (stub, metadata):
        try:
            stub.ReleaseSession(ReleaseSessionRequest(**_names(operation)), metadata=metadata, timeout=_CALL_SECONDS)
        except grpc.RpcError as error:
            check_admitted(operation.url, error)
            raise unreachable(operation.url, error) from error


def _names(operation: Operation) -> dict[str, Any]:
    from pyspark.sql.connect.proto import UserContext

    return {"session_id": operation.session, "user_context": UserContext(user_id=operation.user)}
