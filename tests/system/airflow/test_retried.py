"""Real processes of Airflow ask the retry policy: one task fails at its first try, another is tried again soon."""

from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("airflow_processes"),
    pytest.mark.skipif(
        find_spec("airflow.sdk.definitions.retry_policy") is None, reason="retry policies have come with Airflow 3.3"
    ),
]

DAG_ID = "retried"


def test_what_no_retry_can_help_fails_at_once_and_the_rest_passes(airflow):
    api = airflow.api
    api.unpause(DAG_ID)
    run_id = api.trigger(DAG_ID)
    api.wait_for_run(DAG_ID, run_id, "failed")
    assert api.result(DAG_ID, run_id, "passes") == 2
    assert api.task(DAG_ID, run_id, "gone")["try_number"] == 1
    assert "no retry can help: " in api.log(DAG_ID, run_id, "gone")
