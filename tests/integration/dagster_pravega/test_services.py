"""Jobs of Flink and Debezium Servers are assets whose check says what is wrong, and how they are started again."""

import time
from contextlib import closing
from datetime import timedelta

import dagster as dg
import psycopg2
import pytest
from tests.unit.pravega_jobs.http_servers import debezium_answers, flink_answers, played

from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    HttpServiceResource,
    LandingDatabase,
    PravegaResource,
    build_debezium_server,
    build_flink_job,
    pravega_stream_spec,
)

RESTART = "flink run -d enrich.jar"


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def server():
    with played() as server:
        yield server


@pytest.fixture
def check(pravega_config, server, instance):
    """The evaluation of the check of a program, with its metadata."""

    def check(definitions, **resources):
        service = HttpServiceResource(uri=server.uri, timeout=5.0)
        given = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri), **resources}
        job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())
        made = dg.Definitions.merge(
            definitions, dg.Definitions(resources={"flink": service, "debezium": service, **given}, jobs=[job])
        )
        result = made.resolve_job_def("job").execute_in_process(instance=instance)
        [found] = result.get_asset_check_evaluations()
        return found, {name: entry.value for name, entry in found.metadata.items()}

    return check


def milliseconds(ago):
    return int((time.time() - ago) * 1000)


def test_a_job_of_flink_is_healthy_or_says_what_is_wrong(check, server, make_stream, append, client):
    stream = make_stream()
    group = f"{stream.scope}/enrich"
    client.create_reader_group(stream.scope, "enrich", [stream])
    job = build_flink_job(
        ["flink", "enrich"],
        job="enrich",
        reads=[pravega_stream_spec(str(stream))],
        group=group,
        max_lag_bytes=100,
        max_commit_age=timedelta(minutes=10),
        restart=RESTART,
    )
    server.answers = flink_answers("enrich", "RUNNING", started=milliseconds(7200), acked=milliseconds(30), failed=1)
    found, metadata = check(job)
    assert (found.passed, found.description) == (True, "Job 'enrich' of Flink runs")
    assert (metadata["state"], metadata["failed_commits"], metadata["pravega/lag_bytes"]) == ("RUNNING", 1, 0)
    assert metadata["checkpoint"] == "file:/checkpoints/7"
    assert 29 < metadata["last_commit_age_seconds"] < 600
    assert RESTART in metadata["restart"]

    append(stream, ["x" * 100])
    server.answers = flink_answers("enrich", "RESTARTING", started=milliseconds(7200), acked=milliseconds(3600))
    found, metadata = check(job)
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert found.description.startswith("it is RESTARTING; no checkpoint since 20")
    assert "it is 108 bytes behind, more than 100" in found.description
    assert found.description.endswith(f"To start it again: {RESTART}")
    [spec] = job.assets or []
    assert isinstance(spec, dg.AssetSpec)
    assert (spec.kinds, [dep.asset_key for dep in spec.deps]) == ({"flink"}, [dg.AssetKey([*str(stream).split("/")])])


def test_a_flink_that_cannot_be_asked_is_not_healthy(check):
    found, _ = check(build_flink_job("enrich", job="enrich", restart=RESTART))
    assert not found.passed
    assert "/jobs/overview answers 404" in found.description
    assert RESTART in found.description


def test_a_debezium_that_writes_nothing_is_not_healthy(check, server, make_stream, append):
    first, heartbeats = make_stream("first"), make_stream("heartbeats")
    streams = [str(first), str(heartbeats)]
    server.answers = debezium_answers("UP")
    append(heartbeats, ["beat"])
    found, metadata = check(build_debezium_server("debezium", streams=streams, max_commit_age=timedelta(hours=1)))
    assert found.passed, found.description
    assert (metadata["state"], metadata["debezium"]) == ("UP", "UP")
    found, _ = check(build_debezium_server("debezium", streams=streams, max_commit_age=timedelta()))
    assert "no write to its streams since" in found.description
    server.answers = debezium_answers("DOWN")
    found, _ = check(build_debezium_server("debezium", restart="systemctl restart debezium"))
    assert found.description == (
        "it is DOWN: these of its checks are down: debezium. To start it again: systemctl restart debezium"
    )


def test_a_slot_that_nobody_reads_is_not_healthy(check, server, postgres_dsn):
    server.answers = debezium_answers("UP")
    made = build_debezium_server("debezium", slot="debezium", database_key="database", max_lag_bytes=10**9)
    database = LandingDatabase(dsn=postgres_dsn)
    found, _ = check(made, database=database)
    assert "the database has no replication slot 'debezium'" in found.description
    with closing(psycopg2.connect(postgres_dsn)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("select pg_create_physical_replication_slot('debezium', true)")
            try:
                found, metadata = check(made, database=database)
            finally:
                cursor.execute("select pg_drop_replication_slot('debezium')")
    assert found.description == "nobody reads the replication slot 'debezium', and the database keeps its log"
    assert metadata["slot_is_read"] is False
    assert metadata["slot_log"] == "reserved"
    assert metadata["pravega/lag_bytes"] >= 0


def test_arguments_that_cannot_be_judged_are_refused():
    with pytest.raises(ConfigurationError, match="needs group"):
        build_flink_job("enrich", job="enrich", max_lag_bytes=1)
    for arguments, message in (
        ({"slot": "debezium"}, "give slot and database_key"),
        ({"max_lag_bytes": 1}, "needs slot and database_key"),
        ({"max_commit_age": timedelta(1)}, "needs streams"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            build_debezium_server("debezium", **arguments)
