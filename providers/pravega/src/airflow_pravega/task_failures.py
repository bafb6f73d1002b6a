"""Which failures end a task, and which leave it to Airflow's retries; errors in the events of triggers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException

from aiopravega.errors import PravegaError
from pravega_jobs.retries import error_named, permanent_errors_as


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block in which errors that no retry can help fail the task at once, those out of Spark too.

    Raises:
        AirflowFailException: instead of a PravegaError that no retry can help, and for a connection that is not there.
        PravegaError: one that can pass.
    """
    try:
        with permanent_errors_as(_final):
            yield
    except AirflowNotFoundException as error:
        raise AirflowFailException(f"{error}: make the connection, or name another one") from error


def _final(_: PravegaError, text: str) -> AirflowFailException:
    return AirflowFailException(text)


def to_event(error: PravegaError) -> dict[str, Any]:
    """An error as the plain JSON of a trigger's event."""
    return {"status": "error", "error": type(error).__name__, "message": str(error)}


def from_event(event: dict[str, Any]) -> PravegaError | None:
    """The error in a trigger's event, or None if it brings no error."""
    if event.get("status") != "error":
        return None
    return error_named(event["error"], event["message"])
