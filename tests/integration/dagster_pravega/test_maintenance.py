"""The maintenance of a commit ledger as a job of Dagster."""

from typing import Any

import dagster as dg
import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from dagster_pravega import PravegaResource, build_ledger_maintenance


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def maintain(pravega_config, scope):
    """Runs the job for the ledger of the resource's scope."""

    def maintain(**arguments: Any) -> dg.ExecuteInProcessResult:
        job = build_ledger_maintenance(retry_policy=dg.RetryPolicy(max_retries=0), **arguments)
        resource = PravegaResource(controller_uri=pravega_config.controller_uri, scope=scope)
        return job.execute_in_process(resources={"pravega": resource}, raise_on_error=False)

    return maintain


def test_what_drivers_left_is_finished_and_reported(maintain, leave_decided, make_stream, client):
    stream = make_stream()
    leave_decided(stream, b"a", b"b", write_id="nightly", committed=[1])

    first, second = maintain(), maintain()

    op = "pravega_ledger_maintenance"
    assert first.output_for_node(op)["finished"] == [f"write 'nightly' to {stream}"]
    assert second.output_for_node(op)["finished"] == []
    found = sorted(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream))
    assert found == [b"a", b"b"]


def test_a_half_visible_write_fails_the_run(maintain, leave_decided, make_stream):
    leave_decided(make_stream(), b"a", b"b", write_id="half", committed=[0], lost=1)

    assert not maintain().success
    assert maintain(fail_on_half_visible=False).success


def test_a_ledger_that_is_not_there_fails_the_run(maintain, scope):
    assert not maintain(ledger=f"{scope}/no-such-ledger").success
