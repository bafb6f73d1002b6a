"""Which failures end a task for good, and which leave it to Airflow's retries.

An error of the client says with `retryable` whether the same call can succeed later. A task is more than one call: it
starts anew, so it also gets over a lost race or a lost lease.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from airflow.sdk.exceptions import AirflowFailException

from aiopravega import errors

# Hopeless for the call that met them, but a new try of the task starts with what the other one left.
_PASS_WITH_A_NEW_TRY: Final = (errors.WriteSupersededError, errors.TableConflictError, errors.TransactionError)


def retry_can_help(error: errors.PravegaError) -> bool:
    """Whether a new try of the whole task can succeed without anybody changing anything."""
    return error.retryable or isinstance(error, _PASS_WITH_A_NEW_TRY)


def task_failure(error: errors.PravegaError) -> Exception:
    """The exception that a task should end with: the error itself, or one that forbids retries."""
    if retry_can_help(error):
        return error
    return AirflowFailException(f"{type(error).__name__}: {error}")


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block in which errors that no retry can help fail the task at once.

    Raises:
        AirflowFailException: in place of a PravegaError that no retry can help.
        PravegaError: one that can pass.
    """
    try:
        yield
    except errors.PravegaError as error:
        failure = task_failure(error)
        if failure is error:
            raise
        raise failure from error


def to_event(error: errors.PravegaError) -> dict[str, Any]:
    """An error as the plain JSON of a trigger's event."""
    return {"status": "error", "error": type(error).__name__, "message": str(error)}


def from_event(event: dict[str, Any]) -> errors.PravegaError | None:
    """The error in a trigger's event, or None if it brings no error."""
    if event.get("status") != "error":
        return None
    return named_error(event["error"], event["message"])


def named_error(name: str, message: str) -> errors.PravegaError:
    """An error of the tree by its class's name, for errors that crossed processes as text."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.PravegaError):
        return kind(message)
    return errors.PravegaError(f"{name}: {message}")
