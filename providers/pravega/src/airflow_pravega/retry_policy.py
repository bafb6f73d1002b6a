"""A retry policy of Airflow 3.3 for any task that uses Pravega: errors that no retry can help fail it at once.

This package's operators and blocks need none, since they raise `AirflowFailException` themselves. Functions that use
`PravegaHook` or the client directly do not. Of the task it knows the exception only.
"""

from collections.abc import Iterator
from datetime import timedelta

from airflow.providers.common.compat.sdk import AirflowOptionalProviderFeatureException
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from pravega_jobs.retries import error_in, new_try_can_help

try:
    from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy
except ImportError as error:
    raise AirflowOptionalProviderFeatureException(
        "PravegaRetryPolicy needs Airflow 3.3 or newer: before, put the work into `with PravegaHook().range(…)` or "
        "@task.pravega_range, which fail a task at once where no retry can help"
    ) from error


class PravegaRetryPolicy(RetryPolicy):
    """Fail a task at once for an error of Pravega that no retry can help, and retry it for one that can pass.

    The error may be what another exception was raised from, or the end of a traceback in a text of Spark. Of several
    the last one raised counts. Other exceptions are left to the task's own rules, or to the next policy of a
    `ChainRetryPolicy`.

    Args:
        delay: the time until the next try after an error that can pass; by default the task's `retry_delay`.

    Raises:
        ConfigurationError: the delay is negative.
    """

    def __init__(self, delay: timedelta | None = None) -> None:
        if delay is not None and delay < timedelta(0):
            raise ConfigurationError(f"the delay of a retry is {delay}: it must not be negative")
        self.delay = delay

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        """Decide by the exception of a task. Airflow's limit of tries holds in any case.

        Args:
            exception: what has ended the task.
            try_number: not used.
            max_tries: not used.
            context: not used.
        """
        found = (error_in(each) for each in _with_causes(exception))
        error = next((each for each in found if each is not None), None)
        if error is None:
            return RetryDecision.default()
        said = f"{type(error).__name__}: {error}"
        if new_try_can_help(error):
            return RetryDecision.retry(self.delay, f"a retry can help: {said}")
        return RetryDecision.fail(f"no retry can help: {said}")


def _with_causes(exception: BaseException) -> Iterator[BaseException]:
    """An exception, then what it was raised from."""
    seen: set[int] = set()
    following: BaseException | None = exception
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__
