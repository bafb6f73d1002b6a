"""Errors of the client in the words of Dagster."""

import dagster as dg
import pytest

from aiopravega import errors
from dagster_pravega.failures import failing_for_good


def test_what_no_retry_can_help_forbids_retries():
    with pytest.raises(dg.Failure) as caught, failing_for_good():
        raise errors.StreamNotFoundError("there is no stream a/b: create it")

    assert caught.value.allow_retries is False
    assert caught.value.description == "StreamNotFoundError: there is no stream a/b: create it"
    assert caught.value.metadata["error"].value == "StreamNotFoundError"


@pytest.mark.parametrize(
    "error", [errors.PravegaConnectionError, errors.TransactionAbortedError, errors.WriteSupersededError]
)
def test_what_can_pass_is_left_to_the_retry_policy(error):
    with pytest.raises(error), failing_for_good():
        raise error("gone for now")


def test_errors_that_spark_hands_on_as_text_are_found():
    text = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed: Traceback (most recent call last):\n"
        '  File "x.py", line 1, in y\n'
        "aiopravega.errors.StreamSealedError: a/b is sealed\n\n\tat org.apache.spark.X(Y.scala:1)"
    )
    with pytest.raises(dg.Failure, match="StreamSealedError: a/b is sealed"), failing_for_good():
        raise RuntimeError(text)
    with pytest.raises(errors.PravegaTimeoutError, match="^no answer$"), failing_for_good():
        raise RuntimeError("aiopravega.errors.PravegaTimeoutError: no answer")


def test_other_errors_stay_what_they_are():
    with pytest.raises(ZeroDivisionError), failing_for_good():
        raise ZeroDivisionError
