"""Failures of tasks: some end a task at once, others are left to Airflow's retries; triggers send them as events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSensorTimeout,
    AirflowSkipException,
    DownstreamTasksSkipped,
)
from airflow.sdk import Context

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import PravegaError
from airflow_pravega.tasks.identity import records_nothing, write_name
from airflow_pravega.tasks.intervals import finish, interval_in
from airflow_pravega.tasks.templates import TemplatedTexts
from pravega_jobs.retries import error_named, permanent_errors_as

# Airflow does not try the task again.
_FINAL: Final = (AirflowFailException, AirflowSensorTimeout)
_DONE: Final = (AirflowSkipException, DownstreamTasksSkipped)
# The task continues later, in the same try. By their names, since releases of Airflow have them in several modules.
_CONTINUED: Final = ("AirflowRescheduleException", "TaskAwaitingInput", "TaskDeferred")


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block; an error that no retry can help, also one inside an error of Spark, fails the task at once.

    Raises:
        AirflowFailException: instead of a PravegaError that no retry can help, and for a connection that is missing.
        PravegaError: one that can pass.
    """
    try:
        with permanent_errors_as(_final):
            yield
    except AirflowNotFoundException as error:
        raise AirflowFailException(f"{error}: make the connection, or name another one") from error


def _final(_: PravegaError, text: str) -> AirflowFailException:
    return AirflowFailException(text)


class Cluster(Protocol):
    """A hook, as far as failures need it."""

    def get_client(self) -> PravegaClient:
        """A blocking client."""

    def get_impatient_client(self) -> PravegaClient:
        """A blocking client that gives up soon."""


class ProcessesInterval(TemplatedTexts):
    """An operator that processes and finishes the interval of a range, or records that its last try has failed."""

    stream: Any = None  # its name; None: the stream of the range

    @property
    def given_ranges(self) -> Sequence[Any]:
        """The values of the argument for the range, as the DAG has them: one at most."""
        return [getattr(self, "stream_cuts", None)]

    # Set while the operator works on an interval in the last try.
    _when_killed: Callable[[], None] | None = None

    def on_kill(self) -> None:
        """Record that the task was killed: marked by somebody, or ended with its worker."""
        super().on_kill()
        if self._when_killed is not None:
            self._when_killed()

    @contextmanager
    def failures_recorded(self, hook: Cluster, cuts: Any, context: Context) -> Iterator[None]:
        """See `failures_recorded` of this module; a task that is killed in its last try has also failed."""

        def watch(killed: Callable[[], None] | None) -> None:
            self._when_killed = killed

        with failures_recorded(hook, self.stream, cuts, context, watch):
            yield


@contextmanager
def failures_recorded(
    hook: Cluster,
    stream: str | None,
    cuts: Any,
    context: Context,
    watch: Callable[[Callable[[], None] | None], None] = lambda _: None,
) -> Iterator[None]:
    """Run a block that processes the interval of a range; if it fails and is not tried again, record that.

    The end of the task's `execution_timeout` is also a failure. A block that skips the task has decided that there is
    nothing to do in the range: its interval is done. A block that defers or reschedules the task continues later.

    Args:
        hook: connects to the cluster.
        stream: the name of the stream, with or without its scope; None: the stream of the range.
        cuts: the range.
        context: the task's context.
        watch: gets a function to call when the task is killed in its last try; None: the block has ended.
    """
    named = isinstance(cuts, Mapping) and {"consumer", "interval"} <= cuts.keys() and not records_nothing(context)
    last = named and is_last_try(context)
    killed = False

    def stream_of(client: PravegaClient) -> StreamName:
        name = str(StreamCutRange.from_json(cuts).stream) if stream is None else stream
        return StreamName.parse(name, client.config.scope)

    def record(client: PravegaClient, reason: str) -> None:
        with client:
            name = stream_of(client)
            client.cut_ledger(name.scope).fail(interval_in(cuts, name), reason, by=write_name(context))

    def when_killed() -> None:
        # A signal has interrupted the task: the connection was read before, because Airflow answers one at a time.
        nonlocal killed
        killed = True
        watch(None)
        with suppress(PravegaError):
            record(impatient, "the task was killed in its last try")

    if last:
        with suppress(PravegaError, AirflowNotFoundException):
            impatient = hook.get_impatient_client()
            watch(when_killed)
    try:
        yield
    except _DONE:
        if named:
            with hook.get_client() as client:
                finish(client, stream_of(client), cuts, StreamCutRange.from_json(cuts), context)
        raise
    except BaseException as error:
        is_over = isinstance(error, _FINAL) or (last and type(error).__name__ not in _CONTINUED)
        if named and not killed and is_over:
            reason = f"{error}" if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
            # The error of the block matters more than one of the ledger.
            with suppress(PravegaError, AirflowNotFoundException):
                record(hook.get_client(), reason)
        raise
    finally:
        watch(None)


def is_last_try(context: Context) -> bool:
    """True if Airflow does not try the task again after a failure."""
    ti = context["ti"]
    return ti.try_number > ti.max_tries


def to_event(error: PravegaError) -> dict[str, Any]:
    """An error as the plain JSON of a trigger's event."""
    return {"status": "error", "error": type(error).__name__, "message": str(error)}


def from_event(event: dict[str, Any]) -> PravegaError | None:
    """The error in a trigger's event; None if the event has none."""
    if event.get("status") != "error":
        return None
    return error_named(event["error"], event["message"])
