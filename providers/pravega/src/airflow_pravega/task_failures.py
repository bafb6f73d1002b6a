"""Which failures end a task for good, and which leave it to Airflow's retries; errors in the events of triggers."""

from contextlib import AbstractContextManager
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from aiopravega.errors import PravegaError
from aiopravega.jobs.retries import error_named, permanent_errors_as


def failing_for_good() -> AbstractContextManager[None]:
    """Run a block in which errors that no retry can help fail the task at once, those out of Spark too.

    Raises:
        AirflowFailException: instead of a PravegaError that no retry can help.
        PravegaError: one that can pass.
    """
    return permanent_errors_as(_final)


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
