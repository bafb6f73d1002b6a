"""Which failures end a step, and which leave it to its retry policy."""

from contextlib import AbstractContextManager

from dagster import Failure

from aiopravega.errors import PravegaError
from pravega_jobs.retries import permanent_errors_as


def failing_for_good() -> AbstractContextManager[None]:
    """Run a block in which errors that no retry can help fail the step at once, those out of Spark too.

    Raises:
        Failure: instead of a PravegaError that no retry can help; it forbids retries, whatever the policy.
        PravegaError: one that can pass.
    """
    return permanent_errors_as(_final)


def _final(error: PravegaError, text: str) -> Failure:
    return Failure(text, metadata={"error": type(error).__name__}, allow_retries=False)
