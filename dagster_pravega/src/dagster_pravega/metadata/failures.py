"""Failures of steps: an error that no retry can help ends the step at once, whatever its retry policy."""

from contextlib import AbstractContextManager

from dagster import Failure

from aiopravega.errors import PravegaError
from pravega_jobs.retries import permanent_errors_as


def failing_for_good() -> AbstractContextManager[None]:
    """Run a block in which permanent errors fail the step at once, also errors that Spark has wrapped.

    Raises:
        Failure: instead of a permanent PravegaError; it forbids retries, whatever the policy.
        PravegaError: a retryable error.
    """
    return permanent_errors_as(_final)


def _final(error: PravegaError, text: str) -> Failure:
    return Failure(text, metadata={"error": type(error).__name__}, allow_retries=False)
