"""Which errors end a task at once, and which are tried again, where a function uses the client by itself."""

from datetime import timedelta
from importlib import import_module

import pytest
from airflow.providers.standard.operators.python import PythonOperator

from aiopravega import StreamName, errors
from aiopravega.errors import ConfigurationError
from airflow_pravega.hooks.pravega import PravegaHook

RetryAction = pytest.importorskip("airflow.sdk.definitions.retry_policy", reason="of Airflow 3.3 and newer").RetryAction
PravegaRetryPolicy = import_module("airflow_pravega.retry_policy").PravegaRetryPolicy
DELAY = timedelta(seconds=7)


def decided(exception):
    return PravegaRetryPolicy(DELAY).evaluate(exception, 1, 3)


@pytest.mark.parametrize("name", ["StreamNotFoundError", "StreamTruncatedError", "PermissionDeniedError"])
def test_what_no_retry_can_help_fails_at_once(name):
    decision = decided(getattr(errors, name)("gone"))
    assert (decision.action, decision.reason) == (RetryAction.FAIL, f"no retry can help: {name}: gone")


@pytest.mark.parametrize("name", ["PravegaConnectionError", "WriteSupersededError"])
def test_what_can_pass_is_tried_again_after_the_delay(name):
    decision = decided(getattr(errors, name)("lost"))
    assert (decision.action, decision.retry_delay) == (RetryAction.RETRY, DELAY)


def test_other_errors_are_left_to_the_task():
    assert decided(KeyError("id")).action is RetryAction.DEFAULT


def test_an_error_counts_as_a_cause_or_in_a_text_of_spark():
    caused = ValueError("the report was not made")
    caused.__cause__ = errors.StreamNotFoundError("gone")
    spark = RuntimeError("Job aborted\nTraceback (most recent call last):\naiopravega.errors.StreamNotFoundError: gone")
    assert {decided(each).action for each in (caused, spark)} == {RetryAction.FAIL}


def test_of_several_errors_the_last_one_raised_counts():
    error = errors.StreamNotFoundError("gone")
    error.__cause__ = errors.PravegaConnectionError("lost")
    assert decided(error).action is RetryAction.FAIL


def test_causes_in_a_circle_end():
    one, other = ValueError(), ValueError()
    one.__cause__, other.__cause__ = other, one
    assert decided(one).action is RetryAction.DEFAULT


def test_a_negative_delay_is_refused():
    with pytest.raises(ConfigurationError, match="must not be negative"):
        PravegaRetryPolicy(timedelta(seconds=-1))


@pytest.mark.parametrize(("there", "tries"), [(False, 1), (True, 2)])
def test_airflow_asks_the_policy_of_a_task_that_uses_the_hook(run_task, stream, there, tries):
    name = stream if there else StreamName(stream.scope, "none")

    def work():
        with PravegaHook().get_client() as client:
            client.tail(name)
        raise errors.PravegaConnectionError("lost")

    def operator(**arguments):
        return PythonOperator(python_callable=work, retry_policy=PravegaRetryPolicy(), **arguments)

    run = run_task(operator)
    assert (run.state(), run.tries()) == ("failed", tries)
