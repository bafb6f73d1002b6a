"""Which failures end a task for good, and which leave it to Airflow's retries; errors in the events of triggers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from aiopravega.errors import PravegaError
from aiopravega.failures import error_in, error_named, new_try_can_help


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block in which errors that no retry can help fail the task at once, those out of Spark too.

    Raises:
        AirflowFailException: in place of a PravegaError that no retry can help.
        PravegaError: one that can pass.
    """
    try:
        yield
    except Exception as raised:
        error = error_in(raised)
        if error is None:
            raise
        if not new_try_can_help(error):
            raise AirflowFailException(f"{type(error).__name__}: {error}") from raised
        if error is raised:
            raise
        raise error from raised


def to_event(error: PravegaError) -> dict[str, Any]:
    """An error as the plain JSON of a trigger's event."""
    return {"status": "error", "error": type(error).__name__, "message": str(error)}


def from_event(event: dict[str, Any]) -> PravegaError | None:
    """The error in a trigger's event, or None if it brings no error."""
    if event.get("status") != "error":
        return None
    return error_named(event["error"], event["message"])
