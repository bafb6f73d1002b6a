import json

import pytest
from airflow.sdk.exceptions import AirflowFailException

from aiopravega import errors
from airflow_pravega.failures import failing_for_good, from_event, to_event

HOPELESS = [
    errors.ConfigurationError,
    errors.StreamNotFoundError,
    errors.InvalidStreamCutError,
    errors.InvalidRangeError,
    errors.StreamTruncatedError,
    errors.StreamSealedError,
    errors.PermissionDeniedError,
    errors.AuthenticationError,
    errors.TlsError,
    errors.EventTooLargeError,
    errors.PartialCommitError,
]
PASSING = [
    errors.PravegaConnectionError,
    errors.PravegaTimeoutError,
    errors.ServerError,
    errors.TokenExpiredError,
    errors.WriteSupersededError,
    errors.TransactionAbortedError,
    errors.TableConflictError,
]


@pytest.mark.parametrize("kind", HOPELESS)
def test_what_no_retry_can_help_fails_the_task_for_good(kind: type[errors.PravegaError]):
    with pytest.raises(AirflowFailException, match=f"{kind.__name__}: what, and what to do"), failing_for_good():
        raise kind("what, and what to do")


@pytest.mark.parametrize("kind", PASSING)
def test_what_can_pass_is_left_to_retries(kind: type[errors.PravegaError]):
    with pytest.raises(kind, match="later"), failing_for_good():
        raise kind("later")


def test_an_error_inside_spark_is_treated_as_what_it_was():
    hopeless = "aiopravega.errors.StreamSealedError: a/b is sealed"
    with pytest.raises(AirflowFailException, match="^StreamSealedError: a/b is sealed$"), failing_for_good():
        raise RuntimeError(hopeless)
    with pytest.raises(errors.PravegaTimeoutError, match="^no answer$"), failing_for_good():
        raise RuntimeError("aiopravega.errors.PravegaTimeoutError: no answer")


def test_other_errors_are_nobody_elses_business():
    with pytest.raises(KeyError), failing_for_good():
        raise KeyError("x")


@pytest.mark.parametrize("kind", [*HOPELESS, *PASSING])
def test_an_error_survives_the_way_through_an_event(kind: type[errors.PravegaError]):
    found = from_event(json.loads(json.dumps(to_event(kind("message")))))
    assert type(found) is kind
    assert str(found) == "message"


def test_an_event_without_an_error_has_none():
    assert from_event({"status": "moved", "start": "", "end": ""}) is None
