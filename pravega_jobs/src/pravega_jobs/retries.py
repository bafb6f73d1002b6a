"""Errors of jobs: a new try of the whole job can succeed after some of them; the others end it.

Schedulers get errors as text: in the events of triggers, and inside Java exceptions of Spark, which hands on the
tracebacks of Python data sources. Here they become errors of the package again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from aiopravega import errors
from aiopravega.errors import PravegaError
from pravega_jobs.spark.options import UNSPLIT

# The last line of a traceback that ends with an error of the tree.
_IN_A_TRACEBACK: Final = re.compile(r"^aiopravega\.errors\.(\w+): (.*)$", re.MULTILINE)
# The call cannot succeed, but a new try of the job can: it starts with what the earlier try left.
_PASS_WITH_A_NEW_TRY: Final = (
    errors.WriteSupersededError,
    errors.TableConflictError,
    errors.TransactionError,
    errors.SplitProofError,
)

R = TypeVar("R")


def error_named(name: str, message: str) -> PravegaError:
    """An error by its class's name; if there is no such class, a `PravegaError` with the name in the message."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, PravegaError):
        return kind(message)
    return PravegaError(f"{name}: {message}")


def error_in(error: BaseException) -> PravegaError | None:
    """The error that an exception is, or that its text contains as the end of a traceback; None if there is none."""
    if isinstance(error, PravegaError):
        return error
    found = _IN_A_TRACEBACK.findall(str(error))
    return error_named(*found[-1]) if found else None


def new_try_can_help(error: PravegaError) -> bool:
    """True if a new try of the whole job can succeed without any change.

    `retryable` is True if the same call can succeed later. A job is more than one call: a new try starts again, so it
    can also succeed after a lost race or a lost lease.
    """
    return error.retryable or isinstance(error, _PASS_WITH_A_NEW_TRY)


@contextmanager
def permanent_errors_as(permanent: Callable[[PravegaError, str], Exception]) -> Iterator[None]:
    """Run a block of a job; errors that no new try can help become the scheduler's own, those out of Spark too.

    Args:
        permanent: from an error, and its text with the name of its class, to the scheduler's error, which forbids a
            new try.

    Raises:
        Exception: `permanent`, instead of a PravegaError that no new try can help.
        PravegaError: an error after which a new try can succeed.
    """
    try:
        yield
    except Exception as raised:
        error = error_in(raised)
        if error is None:
            raise
        if not new_try_can_help(error):
            raise permanent(error, f"{type(error).__name__}: {error}") from raised
        if error is raised:
            raise
        raise error from raised


def unsplit_if_need_be(read: Callable[[Mapping[str, str]], R], warn: Callable[..., object]) -> R:
    """Run a read by Spark; if a segment turns out to be split at a wrong offset, run it again without splits.

    Args:
        read: runs the read with more options of the data source.
        warn: a logger's method that reports the second run.
    """
    try:
        return read({})
    except Exception as error:
        inner = error_in(error)
        if not isinstance(inner, errors.SplitProofError):
            raise
        warn("A segment was split where no event starts, so the range is read again unsplit: %s", inner)
    return read(UNSPLIT)
