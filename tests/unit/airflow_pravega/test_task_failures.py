import json
import sys
from importlib import import_module

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowOptionalProviderFeatureException

from aiopravega import errors
from airflow_pravega.tasks.failures import failing_for_good, from_event, to_event


def test_what_no_retry_can_help_fails_the_task_without_retries():
    with pytest.raises(AirflowFailException, match="StreamSealedError: what, and what to do"), failing_for_good():
        raise errors.StreamSealedError("what, and what to do")


def test_what_can_pass_is_left_to_retries():
    with pytest.raises(errors.PravegaTimeoutError, match="later"), failing_for_good():
        raise errors.PravegaTimeoutError("later")


@pytest.mark.parametrize("kind", [errors.ConfigurationError, errors.PartialCommitError, errors.PravegaTimeoutError])
def test_an_error_survives_the_way_through_an_event(kind: type[errors.PravegaError]):
    found = from_event(json.loads(json.dumps(to_event(kind("message")))))
    assert type(found) is kind
    assert str(found) == "message"


def test_an_event_without_an_error_has_none():
    assert from_event({"status": "moved", "start": "", "end": ""}) is None


def test_an_airflow_without_retry_policies_is_told_the_other_ways(monkeypatch):
    monkeypatch.setitem(sys.modules, "airflow.sdk.definitions.retry_policy", None)
    monkeypatch.delitem(sys.modules, "airflow_pravega.retry_policy", raising=False)
    with pytest.raises(AirflowOptionalProviderFeatureException, match=r"Airflow 3\.3 or newer: .*@task\.pravega_range"):
        import_module("airflow_pravega.retry_policy")
