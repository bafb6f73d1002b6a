"""Programs on drivers of a real standalone cluster, while the task waits on the triggerer."""

import asyncio
import json
import os
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from tests.faults.process import ROOT, wait_until
from tests.integration.airflow_pravega.test_spark_submit import DAY, EVENTS, contents, record_of, submission
from tests.system.rest_proxy import RestProxy
from tests.system.spark_cluster import SparkCluster

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from airflow_pravega.spark.standalone import StandaloneDrivers
from airflow_pravega.spark.submission import hook_from, program_of
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from pravega_jobs.remote.reports import TABLE, Submission

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("spark_submit")]


@pytest.fixture
def cluster(tmp_path_factory, monkeypatch):
    """A cluster without workers that takes drivers, and a connection to it."""
    with SparkCluster(tmp_path_factory.mktemp("cluster"), takes_drivers=True) as started:
        connect(monkeypatch, started, started.rest_port)
        yield started


def connect(monkeypatch, cluster, rest_port, mode="cluster"):
    extra = {"deploy-mode": mode, "rest-port": rest_port}
    fields = {"conn_type": "spark", "host": f"spark://{cluster.host}", "port": cluster.port, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))


@pytest.fixture
def deferring(tmp_path):
    """`submission` with a folder; its task waits on the triggerer."""
    return partial(
        submission,
        tmp_path,
        deferrable=True,
        poll_interval=0.5,
        executor_memory="512m",
        driver_memory="512m",
        env_vars={"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))},
    )


def submission_in(client, scope):
    """What the report's entry of the only job has."""
    try:
        [entry] = client.table(scope, TABLE).entries()
    except (ValueError, LookupError):
        return None
    return Submission.of(entry)


def job_of(stream):
    """The name of the job, and of its write."""
    return f"airflow/dag-{stream.scope}/submit/{DAY.isoformat()}"


def is_noted(client, scope):
    """True if the entry names a driver: the task has noted it, or its program has begun."""
    found = submission_in(client, scope)
    return found is not None and found.driver is not None


def state_of(cluster, driver):
    return asyncio.run(StandaloneDrivers([cluster.rest_url]).status(driver)).state


def said_by(driver: Path) -> str:
    """What Spark and its program, by whose stdout the traces of Python come, have said."""
    return "".join((driver / name).read_text() for name in ("stderr", "stdout"))


def test_a_deferred_program_writes_its_range_once(run, client, stream, write, deferring, cluster, capfd):
    write(*EVENTS)
    cluster.start_worker()
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "copy", copies), DAY)
    cuts, found = done.result("wait"), done.result("submit")
    assert (found["events"], found["reported"]) == (len(EVENTS), {"rows": len(EVENTS)})
    assert found["cuts"] == {"start": cuts["start"], "end": cuts["end"]}
    # The same name as that of a task that does not defer.
    assert found["output"]["write_id"] == job_of(stream)
    assert contents(client, copies) == EVENTS
    assert record_of(client, stream, cuts).is_done
    assert list(client.table(stream.scope, TABLE).entries()) == []
    [driver] = cluster.drivers()
    assert f"{driver.name} is RUNNING" in capfd.readouterr().out


@pytest.mark.slow
def test_a_driver_whose_submission_was_not_noted_is_found_again(
    run, client, stream, write, deferring, cluster, monkeypatch, tmp_path, capfd
):
    write(*EVENTS)
    cluster.start_worker()
    copies = StreamName(stream.scope, "copies")

    def begun():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the program begins", 300, every=0.5)
        (tmp_path / "go").touch()

    with RestProxy(cluster.rest_url, begun) as proxy:
        connect(monkeypatch, cluster, proxy.port)
        done = run(deferring(stream, "waiting", copies, retries=1), DAY)
    assert done.tries("submit") == 2
    assert "Found again: driver-" in capfd.readouterr().out
    assert len(cluster.drivers()) == 1
    assert done.result("submit")["output"]["events"] == len(EVENTS)
    assert contents(client, copies) == EVENTS


@pytest.mark.slow
def test_a_program_of_which_nobody_knows_is_refused_when_it_begins(
    run, client, stream, write, deferring, cluster, monkeypatch, meanwhile, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    with RestProxy(cluster.rest_url, lambda: None) as proxy:  # without a worker, no program begins

        def start_worker():
            wait_until(lambda: is_noted(client, stream.scope), lambda: "the second try submits", 300, every=0.5)
            cluster.start_worker()

        connect(monkeypatch, cluster, proxy.port)
        with meanwhile(start_worker):
            done = run(deferring(stream, "copy", copies, retries=1), DAY)
    assert done.tries("submit") == 2
    assert "If its program has arrived, it is refused when it begins" in capfd.readouterr().out
    first, second = cluster.drivers()
    assert "was submitted again, or given up" in said_by(first)
    assert "was submitted again" not in said_by(second)
    assert done.result("submit")["output"]["written"] is True
    assert contents(client, copies) == EVENTS


@pytest.mark.slow
def test_a_program_that_is_killed_twice_is_submitted_again(run, client, stream, write, deferring, cluster):
    write(*EVENTS)
    cluster.start_worker()
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "deadly", copies, retries=2), DAY)
    assert (done.tries("submit"), len(cluster.drivers())) == (3, 3)
    assert done.result("submit")["output"]["written"] is False
    assert contents(client, copies) == EVENTS


@pytest.mark.slow
def test_a_driver_is_killed_with_its_task(run, client, stream, write, deferring, cluster):
    write(*EVENTS)
    cluster.start_worker()
    done = run(deferring(stream, "waiting", execution_timeout=timedelta(seconds=90)), DAY)
    assert done.state("submit") == "failed"
    [record] = client.cut_ledger(stream.scope).records("submitted", stream)
    assert "ran longer than the execution_timeout" in record.reason
    [driver] = cluster.drivers()
    wait_until(lambda: state_of(cluster, driver.name) == "KILLED", lambda: f"{driver.name} is killed", 60, every=0.5)
    assert list(client.table(stream.scope, TABLE).entries()) == []


@pytest.mark.slow
def test_only_the_try_that_waits_kills_the_driver(run, client, stream, write, deferring, cluster, meanwhile):
    write(*EVENTS)
    states = []

    def end_by_a_person():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the task submits", 300, every=0.5)
        found = submission_in(client, stream.scope)
        for watcher in ("another try", found.watcher):
            trigger = PravegaSparkDriverTrigger(
                cluster="standalone",
                servers=[cluster.rest_url],
                driver=found.driver,
                job={"scope": stream.scope, "job": job_of(stream), "submission": found.submission},
                watcher=watcher,
                poll_interval=1.0,
                pravega_conn_id="pravega_default",
                carried={},
            )
            asyncio.run(trigger.on_kill())
            states.append(state_of(cluster, found.driver))

    with meanwhile(end_by_a_person):  # without a worker, the driver waits
        done = run(deferring(stream, "copy"), DAY)
    assert states[0] == "SUBMITTED"
    assert states[1] in {"KILLED", None}
    assert done.state("submit") == "failed"


def test_what_cannot_be_waited_for_on_the_triggerer_is_refused(monkeypatch):
    def refused(said, host, mode="cluster", **arguments):
        fields = {"conn_type": "spark", "host": host, "port": 7077, "extra": {"deploy-mode": mode}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
        with pytest.raises(ConfigurationError, match=said):
            program_of(hook_from(partial(SparkSubmitHook, **arguments)), "/jobs/program.py", "job")

    refused("leads to yarn://", "yarn://")
    refused("needs the namespace|spark-kubernetes", "k8s://https://kubernetes")
    refused("leads to local", "local://")
    refused("Spark Connect", "sc://spark")
    refused("a child of the worker", "spark://spark", "client")
    refused("post_submit_commands", "spark://spark", post_submit_commands=["true"])
