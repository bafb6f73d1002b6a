"""Failures of tasks: some end a task at once, others are left to Airflow's retries; triggers send them as events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, TaskDeferred
from airflow.sdk import BaseOperator, Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import PravegaError
from aiopravega.ledger import Interval
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.identity import records_nothing, write_name
from pravega_jobs.retries import error_named, permanent_errors_as

# Characters of a reason in the ledger: an error of Spark brings its whole traceback.
_LONGEST_REASON: Final = 1000


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


class ProcessesInterval(BaseOperator):
    """An operator that processes and finishes the interval of a range, or records that its last try has failed."""

    stream: str

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
    def failures_recorded(self, hook: PravegaHook, cuts: Any, context: Context) -> Iterator[None]:
        """Run a block that processes the interval of a range; if it fails on the last try, record that.

        The end of the task's `execution_timeout` is also a failure. A further try is not: Airflow runs the task again.
        """
        named = isinstance(cuts, Mapping) and {"consumer", "interval"} <= cuts.keys() and not records_nothing(context)
        last = named and _is_last_try(context)

        def record(client: PravegaClient, reason: str) -> None:
            with client:
                name = StreamName.parse(self.stream, client.config.scope)
                interval = Interval(cuts["consumer"], name, cuts["interval"])
                client.cut_ledger(name.scope).fail(interval, reason[:_LONGEST_REASON], by=write_name(context))

        def killed() -> None:
            # A signal has interrupted the task: the connection was read before, because Airflow answers one at a time.
            self._when_killed = None
            with suppress(PravegaError):
                record(impatient, "the task was killed in its last try")

        if last:
            with suppress(PravegaError, AirflowNotFoundException):
                impatient = hook.get_impatient_client()
                self._when_killed = killed
        try:
            yield
        except TaskDeferred:
            raise
        except BaseException as error:
            was_killed = last and self._when_killed is None
            if named and not was_killed and (isinstance(error, AirflowFailException) or last):
                reason = f"{error}" if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
                # The error of the block matters more than one of the ledger.
                with suppress(PravegaError, AirflowNotFoundException):
                    record(hook.get_client(), reason)
            raise
        finally:
            self._when_killed = None


def _is_last_try(context: Context) -> bool:
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
