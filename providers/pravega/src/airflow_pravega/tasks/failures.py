"""Failures of tasks: some end a task at once, others are left to Airflow's retries; triggers send them as events."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException
from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.errors import PravegaError
from aiopravega.ledger import Interval
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.identity import write_name
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


@contextmanager
def failures_recorded(hook: PravegaHook, stream: str, cuts: Any, context: Context) -> Iterator[None]:
    """Run a block that processes the interval of a range; if it fails on the last try, record that in the ledger."""
    try:
        yield
    except Exception as error:
        named = isinstance(cuts, Mapping) and {"consumer", "interval"} <= cuts.keys()
        if named and (isinstance(error, AirflowFailException) or _is_last_try(context)):
            # The error of the block matters more than one of the ledger.
            with suppress(PravegaError, AirflowNotFoundException), hook.get_client() as client:
                name = StreamName.parse(stream, client.config.scope)
                interval = Interval(cuts["consumer"], name, cuts["interval"])
                client.cut_ledger(name.scope).fail(interval, f"{error}"[:_LONGEST_REASON], by=write_name(context))
        raise


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
