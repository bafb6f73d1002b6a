"""Programs that Airflow submits by a real spark-submit: they read their range, write once, and report."""

import json
import os
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from airflow.sdk import DAG
from tests.system.canaries import canaries, command_lines_watched, has
from tests.system.spark_cluster import SparkCluster

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.ledger import Interval
from airflow_pravega.operators.spark_submit import PravegaSparkSubmitOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.remote.reports import LARGEST_REPORT, TABLE, JobReports, ReportAddress
from pyspark_pravega.remote.airflow import open_pravega_work

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("spark_submit")]
PROGRAM = Path(__file__).with_name("submitted_program.py")
ROOT = Path(__file__).parents[3]
EVENTS = sorted(b"event %d" % number for number in range(20))
DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def spark_submit(monkeypatch):
    """`spark-submit` on the path, and a connection to a Spark of its own."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))


def submission(folder, stream, what, into=None, retries=0, **arguments) -> DAG:
    """A DAG that submits the program with a range of a sensor; the program finds the folder."""
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        connection = {name: value for name, value in arguments.items() if name == "pravega_conn_id"}
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="submitted", **connection)
        PravegaSparkSubmitOperator(
            task_id="submit",
            application=str(PROGRAM),
            application_args=[what, str(folder)],
            stream=str(stream),
            stream_cuts=wait.output,
            into=None if into is None else str(into),
            retries=retries,
            retry_delay=0,
            **arguments,
        )
    return dag


@pytest.fixture
def submitting(tmp_path):
    """`submission` with a folder."""
    return partial(submission, tmp_path)


def contents(client, stream):
    return sorted(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream))


def record_of(client, stream, cuts):
    return client.cut_ledger(stream.scope).find(Interval("submitted", stream, cuts["interval"]))


@pytest.mark.slow
def test_a_program_that_is_killed_twice_writes_its_range_once(run, client, stream, write, submitting):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    done = run(submitting(stream, "deadly", copies, retries=2), DAY)

    cuts, found = done.result("wait"), done.result("submit")
    assert done.tries("submit") == 3
    assert (found["events"], found["reported"]) == (len(EVENTS), {"rows": len(EVENTS)})
    assert found["cuts"] == {"start": cuts["start"], "end": cuts["end"]}
    assert found["output"]["events"] == len(EVENTS)
    assert found["output"]["written"] is False  # the second try had written all when it died
    assert contents(client, copies) == EVENTS
    assert record_of(client, stream, cuts).is_done
    # What the programs have reported is taken, and none of it is left.
    assert list(client.table(stream.scope, TABLE).entries()) == []


def test_a_program_without_a_write_counts_its_range(run, client, stream, write, submitting):
    write(*EVENTS)
    done = run(submitting(stream, "count"), DAY)
    found = done.result("submit")
    assert (found["events"], found["output"], found["reported"]) == (len(EVENTS), None, {"counted": len(EVENTS)})
    assert record_of(client, stream, done.result("wait")).is_done


@pytest.mark.slow
def test_a_program_works_on_a_standalone_cluster(run, client, stream, write, submitting, tmp_path_factory, monkeypatch):
    write(*EVENTS)
    copies, folder = StreamName(stream.scope, "copies"), tmp_path_factory.mktemp("cluster")
    with SparkCluster(folder) as cluster:
        worker = cluster.start_worker()
        fields = {"conn_type": "spark", "host": f"spark://{cluster.host}", "port": cluster.port}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
        done = run(submitting(stream, "copy", copies, executor_memory="512m"), DAY)
        applications = list((folder / "worker-1").glob("app-*"))
    assert done.result("submit")["output"]["events"] == len(EVENTS)
    assert contents(client, copies) == EVENTS
    assert applications, f"nothing ran on the worker: {worker.said()}"


@pytest.mark.parametrize(
    ("what", "into", "said"),
    [
        ("nothing", None, "has not read its range"),
        ("count", "copies", "has not written"),
        ("refused", "copies", "event"),
    ],
)
def test_a_program_that_does_not_do_its_work_fails_the_task_for_good(
    run, client, stream, write, submitting, what, into, said
):
    write(*EVENTS)
    done = run(submitting(stream, what, into and StreamName(stream.scope, into), retries=1), DAY)
    assert (done.state("submit"), done.tries("submit")) == ("failed", 1)
    [record] = client.cut_ledger(stream.scope).records("submitted", stream)
    assert record.state.value == "failed"
    assert said in record.reason
    # A program that has done too little is run again once the task is cleared.
    assert len(list(client.table(stream.scope, TABLE).entries())) == (1 if what == "refused" else 0)


@pytest.mark.slow
def test_a_password_is_in_the_environment_of_the_job_only(
    run, pravega_emulator_secure, connection_json, monkeypatch, submitting, capfd
):
    server = pravega_emulator_secure
    monkeypatch.setenv("AIRFLOW_CONN_OWNER", connection_json(server.config))
    monkeypatch.setenv("PRAVEGA_PASSWORD", "of-the-worker")  # which is not the connection's
    secrets = canaries({account.name: account.password for account in server.accounts})
    stream = StreamName("submitted-secured", "events")
    with PravegaClient(server.config) as client:
        assert client.create_scope(stream.scope)
        assert client.create_stream(stream, ScalingPolicy.fixed(2))
        with client.writer(stream) as writer:
            writer.write_many(EVENTS)
        copies = StreamName(stream.scope, "copies")
        with command_lines_watched(secrets) as lines:
            done = run(submitting(stream, "copy", copies, pravega_conn_id="owner"), DAY)
        assert done.result("submit")["output"]["events"] == len(EVENTS)
        assert contents(client, copies) == EVENTS
    said = capfd.readouterr()
    assert any(PROGRAM.name.encode() in line and b"SparkSubmit" in line for line in lines.seen)
    assert lines.with_secret == set()
    assert not has(secrets, (said.out + said.err).encode())
    assert not has(secrets, json.dumps(done.result("submit")).encode())
    assert os.environ["PRAVEGA_PASSWORD"] == "of-the-worker"


def test_a_standalone_cluster_takes_no_driver(run, client, stream, write, submitting, monkeypatch):
    write(*EVENTS)
    fields = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": 9, "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    done = run(submitting(stream, "copy", retries=1), DAY)
    assert (done.state("submit"), done.tries("submit")) == ("failed", 1)
    [record] = client.cut_ledger(stream.scope).records("submitted", stream)
    assert "deploy mode client only" in record.reason


def test_a_program_that_nobody_has_started_says_who_should():
    with pytest.raises(ConfigurationError, match="let PravegaSparkSubmitOperator"), open_pravega_work():
        pass


def test_a_program_that_was_given_up_reports_nothing(client, scope):
    given_up, newest = (
        JobReports(client.asynchronous, ReportAddress(scope, "job", submission)) for submission in ("one", "two")
    )
    assert client.run(newest.find()) is None
    client.run(given_up.expect())
    client.run(newest.expect())
    with pytest.raises(LedgerError, match="submitted again"):
        client.run(given_up.report({"values": 1}))
    assert client.run(newest.find()) is None
    client.run(newest.report({"values": 2}))
    assert client.run(newest.find()) == {"values": 2}
    assert client.run(given_up.find()) is None
    client.run(given_up.forget())
    # A task whose job the provider has resumed finds it in this way.
    left, _ = client.run(given_up.newest())
    assert (left.submission, left.report) == ("two", {"values": 2})
    with pytest.raises(ConfigurationError, match="at most"):
        client.run(newest.report({"values": "x" * LARGEST_REPORT}))
    client.run(newest.forget())
    assert client.run(newest.find()) is None
