"""A run has failed after its sensor, or is to be tried again: the next run does what `on_open` says."""

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

STREAM = StreamName("system-policies", "rides")
FIRST, SECOND = ["first 1", "first 2"], ["second 1", "second 2"]
DAGS = ("rides_wait", "rides_give_up", "rides_take_over", "rides_skip")


def test_the_next_run_waits_gives_up_takes_over_or_skips(airflow, client, make_stream):
    write = make_stream(str(STREAM))
    api = airflow.api
    api.unpause(*DAGS)
    write(*FIRST)
    first = {dag_id: api.trigger(dag_id, conf={"fails": True}) for dag_id in DAGS}
    for dag_id in set(DAGS) - {"rides_take_over"}:
        api.wait_for_task(dag_id, first[dag_id], "read", "up_for_retry")
    api.wait_for_run("rides_take_over", first["rides_take_over"], "failed")
    write(*SECOND)
    following = {dag_id: api.trigger(dag_id) for dag_id in DAGS}

    def result(dag_id):
        api.wait_for_run(dag_id, following[dag_id])
        return sorted(api.result(dag_id, following[dag_id], "read"))

    def states(dag_id):
        return [record.state.value for record in client.cut_ledger(STREAM.scope).records(f"{dag_id}/wait", STREAM)]

    assert result("rides_skip") == SECOND
    assert states("rides_skip") == ["open", "done"]

    assert result("rides_take_over") == FIRST + SECOND
    assert sorted(states("rides_take_over")) == ["done", "given back"]

    api.wait_for_run("rides_give_up", following["rides_give_up"], "failed")
    assert first["rides_give_up"] in api.log("rides_give_up", following["rides_give_up"], "wait")
    assert states("rides_give_up") == ["open"]

    api.wait_for_task("rides_wait", following["rides_wait"], "wait", "deferred")
    assert states("rides_wait") == ["open"]
    api.clear("rides_wait", first["rides_wait"], "read")
    assert result("rides_wait") == SECOND
    api.wait_for_run("rides_wait", first["rides_wait"])
    assert sorted(api.result("rides_wait", first["rides_wait"], "read")) == FIRST
    assert states("rides_wait") == ["done", "done"]
