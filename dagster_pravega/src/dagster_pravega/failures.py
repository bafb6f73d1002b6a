"""Which failures end a step for good, and which leave it to its retry policy.

An error of the client says with `retryable` whether the same call can succeed later. A step is more than one call: it
starts anew, so it also gets over a lost race or a lost lease. Errors that Spark hands on as text, a traceback of Python
inside an exception of Java, become errors of the client again.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dagster import Failure

from aiopravega import errors

# Hopeless for the call that met them, but a new try of the step starts with what the other one left.
_PASS_WITH_A_NEW_TRY: Final = (errors.WriteSupersededError, errors.TableConflictError, errors.TransactionError)
# The last line of a traceback that ends with an error of the client.
_ERROR: Final = re.compile(r"^aiopravega\.errors\.(\w+): (.*)$", re.MULTILINE)


def retry_can_help(error: errors.PravegaError) -> bool:
    """Whether a new try of the whole step can succeed without anybody changing anything."""
    return error.retryable or isinstance(error, _PASS_WITH_A_NEW_TRY)


def error_in(error: Exception) -> errors.PravegaError | None:
    """The error of the client that an exception is, or that Spark has wrapped into it as text."""
    if isinstance(error, errors.PravegaError):
        return error
    found = _ERROR.findall(str(error))
    if not found:
        return None
    name, message = found[-1]
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.PravegaError):
        return kind(message)
    return errors.PravegaError(f"{name}: {message}")


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block in which errors that no retry can help fail the step at once, whatever its retry policy.

    Raises:
        Failure: in place of a PravegaError that no retry can help; it forbids retries.
        PravegaError: one that can pass.
    """
    try:
        yield
    except Exception as raised:
        error = error_in(raised)
        if error is None or (error is raised and retry_can_help(error)):
            raise
        if retry_can_help(error):
            raise error from raised
        name = type(error).__name__
        raise Failure(f"{name}: {error}", metadata={"error": name}, allow_retries=False) from raised
