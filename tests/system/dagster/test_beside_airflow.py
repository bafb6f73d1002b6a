"""Airflow and Dagster, all their processes, share a consumer: what one has taken the other processes, and continues."""

import json
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.system.airflow.components import Components as Airflow
from tests.system.airflow.postgres import Postgres
from tests.system.dagster.components import DAEMON, Components
from tests.system.servers import free_ports

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

HERE = Path(__file__).parent
STREAM = StreamName("system-shared", "rides")


@pytest.fixture
def airflow(pravega_config, tmp_path):
    """Airflow's components."""
    uri = urlsplit(pravega_config.controller_uri)
    connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
    folder = tmp_path / "airflow"
    folder.mkdir()
    with (
        Postgres(free_ports(1)[0], tmp_path / "postgres.log") as database,
        Airflow(folder, database, HERE / "airflow_dags", {"pravega_default": connection}) as components,
    ):
        yield components


@pytest.fixture
def dagster(pravega_config, tmp_path):
    """Dagster's processes."""
    folder = tmp_path / "dagster"
    folder.mkdir()
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with Components(folder, {"shared": HERE / "shared.py"}, environment) as components:
        yield components


def test_each_scheduler_processes_and_continues_what_the_other_has_taken(
    airflow, dagster, client, make_streams, contents
):
    write = make_streams(STREAM.scope, "rides", "copies")
    api, graphql = airflow.api, dagster.graphql
    first, second, third = ([f"{name} {number}" for number in range(5)] for name in ("first", "second", "third"))
    api.unpause("next_rides", "rides_by_name")

    def taken_by_airflow(*events):
        run = "next_rides", api.trigger("next_rides")
        api.wait_for_task(*run, "wait", "deferred")
        write(*events)
        api.wait_for_run(*run)
        assert sorted(api.result(*run, "read")) == list(events)
        return api.result(*run, "wait")["interval"]

    by_airflow = taken_by_airflow(*first)
    graphql.start_sensor("shared", "next_copies")
    graphql.wait(lambda: graphql.partitions("copies") == [by_airflow], "Airflow's range is a partition")
    assert graphql.runs() == []
    write(*second)
    graphql.wait(lambda: contents(STREAM.scope, "copies") == second, "Dagster continues where Airflow ended")
    graphql.wait(lambda: graphql.runs(statuses=["SUCCESS"]), "its run has ended")
    dagster.kill(DAEMON)
    [_, by_dagster] = graphql.partitions("copies")

    after = taken_by_airflow(*third)
    run = "rides_by_name", api.trigger("rides_by_name", conf={"interval": by_dagster})
    api.wait_for_run(*run)
    assert sorted(api.result(*run, "collected")) == second

    dagster.start(DAEMON)
    graphql.wait(lambda: graphql.partitions("copies") == [by_airflow, by_dagster, after], "the third one, too")
    graphql.wait_for_backfill(graphql.backfill([by_airflow, after], "copies"))
    assert contents(STREAM.scope, "copies") == sorted(first + second + third)
    records = client.cut_ledger(STREAM.scope).records("shared", STREAM)
    assert [(record.interval, record.is_done) for record in records] == [
        (name, True) for name in (by_airflow, by_dagster, after)
    ]
    assert all(last.range.end == following.range.start for last, following in pairwise(records))
    assert records[-1].range.end == client.tail(f"{STREAM.scope}/rides")
