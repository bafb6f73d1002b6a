"""However a run is started, it gets a range of its own, and the ranges follow each other."""

from urllib.parse import quote

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

STREAM_PAGE = "pravega/pravega_default/stream?stream=system-ways%2Frides"
CONSUMER_PAGE = "pravega/pravega_default/consumer?stream=system-ways%2Frides&consumer=rides"


def test_runs_by_api_command_line_schedule_and_asset_continue_one_chain(airflow, client, make_stream):
    write = make_stream("system-ways/rides")
    head = client.head("system-ways/rides")
    api = airflow.api
    api.unpause("rides_by_hand", "rides_by_asset")

    def by_api():
        return "rides_by_hand", api.trigger("rides_by_hand")

    def by_command_line():
        airflow.run("dags", "trigger", "rides_by_hand", "--run-id", "typed")
        return "rides_by_hand", "typed"

    def by_schedule():
        api.unpause("rides_by_time")
        return "rides_by_time", api.only_run("rides_by_time")

    def by_asset():
        api.asset_event("pravega://system-ways/rides")
        return "rides_by_asset", api.only_run("rides_by_asset")

    position = head.to_text()
    intervals, runs = [], []
    for start in (by_api, by_command_line, by_schedule, by_asset):
        events = [f"{start.__name__} {number}" for number in range(5)]
        run = start()
        api.wait_for_task(*run, "wait", "deferred")
        links = api.links(*run, "wait")
        assert links == {"Pravega stream": f"/{STREAM_PAGE}", "Pravega consumer": f"/{CONSUMER_PAGE}"}
        write(*events)
        api.wait_for_run(*run)
        range_ = api.result(*run, "wait")
        assert range_["start"] == position
        assert sorted(api.result(*run, "read")) == events
        position = range_["end"]
        intervals.append(range_["interval"])
        runs.append(run)
    assert intervals[1:3] == ["typed", "2026-01-01T00:00:00+00:00"]
    assert len(set(intervals)) == 4
    assert position == client.tail("system-ways/rides").to_text()
    records = client.cut_ledger("system-ways").records("rides", StreamName("system-ways", "rides"))
    assert [record.state.value for record in records] == ["done"] * 4

    page = api.page(CONSUMER_PAGE)
    assert "4 done" in page
    assert "0 bytes behind the tail" in page
    for dag_id, run_id in runs:
        assert f'<a href="/dags/{dag_id}/runs/{quote(run_id, safe="")}">' in page
    assert f'<a href="/{CONSUMER_PAGE}">rides</a>'.replace("&", "&amp;") in api.page(STREAM_PAGE)
