"""Errors of the client in the words of Dagster."""

import dagster as dg
import pytest

from aiopravega import errors
from dagster_pravega.metadata.failures import failing_for_good


def test_what_no_retry_can_help_forbids_retries():
    with pytest.raises(dg.Failure) as caught, failing_for_good():
        raise errors.StreamNotFoundError("there is no stream a/b: create it")

    assert caught.value.allow_retries is False
    assert caught.value.description == "StreamNotFoundError: there is no stream a/b: create it"
    assert caught.value.metadata["error"].value == "StreamNotFoundError"


def test_what_can_pass_is_left_to_the_retry_policy():
    with pytest.raises(errors.WriteSupersededError), failing_for_good():
        raise errors.WriteSupersededError("gone for now")
