"""Which failures end a step for good, and which leave it to its retry policy."""

from collections.abc import Iterator
from contextlib import contextmanager

from dagster import Failure

from aiopravega.failures import error_in, new_try_can_help


@contextmanager
def failing_for_good() -> Iterator[None]:
    """Run a block in which errors that no retry can help fail the step at once, those out of Spark too.

    Raises:
        Failure: in place of a PravegaError that no retry can help; it forbids retries, whatever the policy.
        PravegaError: one that can pass.
    """
    try:
        yield
    except Exception as raised:
        error = error_in(raised)
        if error is None:
            raise
        if not new_try_can_help(error):
            name = type(error).__name__
            raise Failure(f"{name}: {error}", metadata={"error": name}, allow_retries=False) from raised
        if error is raised:
            raise
        raise error from raised
