"""Programs on drivers in a real cluster of YARN, while the task waits on the triggerer."""

import asyncio
import json
import os
import re
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.faults.process import ROOT, wait_until
from tests.faults.proxy import Proxy
from tests.integration.airflow_pravega.test_spark_deferred import is_noted, job_of, submission_in
from tests.integration.airflow_pravega.test_spark_submit import DAY, EVENTS, contents, record_of, submission
from tests.system.yarn_cluster import YarnCluster

from aiopravega import StreamName
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from pravega_jobs.remote.reports import TABLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.xdist_group("spark_submit")]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with YarnCluster(tmp_path_factory.mktemp("yarn")) as started:
        yield started


@pytest.fixture
def yarn(running, monkeypatch):
    """The cluster, and a connection to it; it has no applications before."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name, value in {**running.environment, "PATH": path}.items():
        monkeypatch.setenv(name, value)
    connect(monkeypatch, running.port)
    running.known = {app["id"] for app in running.applications()}
    return running


def connect(monkeypatch, port):
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": f"127.0.0.1:{port}"}
    fields = {"conn_type": "spark", "host": "yarn", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))


def applications(yarn):
    """Those that this test has submitted, oldest first."""
    return [app for app in yarn.applications() if app["id"] not in yarn.known]


@pytest.fixture
def deferring(tmp_path, yarn):
    """`submission` with a folder; its task waits on the triggerer."""
    folder = tmp_path / "signs"
    folder.mkdir()
    return partial(
        submission,
        folder,
        deferrable=True,
        poll_interval=0.5,
        executor_memory="512m",
        driver_memory="512m",
        conf=yarn.conf,
        env_vars={"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))},
    )


def test_a_deferred_program_on_yarn_writes_its_range_once(run, client, stream, write, deferring, yarn, capfd):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "copy", copies), DAY)
    cuts, found = done.result("wait"), done.result("submit")
    assert (found["events"], found["reported"]) == (len(EVENTS), {"rows": len(EVENTS)})
    assert found["output"]["write_id"] == job_of(stream)
    assert contents(client, copies) == EVENTS
    assert record_of(client, stream, cuts).is_done
    assert list(client.table(stream.scope, TABLE).entries()) == []
    [app] = applications(yarn)
    assert (app["state"], app["finalStatus"], app["name"]) == ("FINISHED", "SUCCEEDED", job_of(stream))
    assert re.search(rf"{app['id']} is RUNNING on \S+: http://\S+/containerlogs/", capfd.readouterr().out)


def test_a_program_on_yarn_that_is_killed_twice_is_submitted_again(run, client, stream, write, deferring, yarn, capfd):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "deadly", copies, retries=2), DAY)
    assert [app["finalStatus"] for app in applications(yarn)] == ["FAILED", "FAILED", "SUCCEEDED"]
    assert done.tries("submit") == 3
    assert done.result("submit")["output"]["written"] is False
    assert contents(client, copies) == EVENTS
    said = capfd.readouterr()
    assert re.search(r"has ended as FAILED on \S+: its output is http://\S+/containerlogs/", said.out + said.err)


def test_a_person_ends_a_program_on_yarn_with_its_task(run, client, stream, write, deferring, yarn, meanwhile):
    write(*EVENTS)

    def end_by_a_person():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the task submits", 300, every=0.5)
        found = submission_in(client, stream.scope)
        trigger = PravegaSparkDriverTrigger(
            cluster="yarn",
            servers=[yarn.url],
            driver=found.driver,
            job={"scope": stream.scope, "job": job_of(stream), "submission": found.submission},
            watcher=found.watcher,
            poll_interval=1.0,
            pravega_conn_id="pravega_default",
            carried={},
        )
        asyncio.run(trigger.on_kill())

    with meanwhile(end_by_a_person):
        done = run(deferring(stream, "waiting"), DAY)
    assert done.state("submit") == "failed"
    [app] = applications(yarn)
    assert app["state"] == "KILLED"
    assert list(client.table(stream.scope, TABLE).entries()) == []


def test_an_application_whose_submission_was_lost_is_found_by_its_tag(
    run, client, stream, write, deferring, yarn, monkeypatch, meanwhile, spark_submit_once, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    script = '{real} "$@"; touch {folder}/arrived; while [ ! -e {folder}/away ]; do sleep 0.2; done; exit 1'
    folder = spark_submit_once(script)
    with Proxy(yarn.port) as proxy:

        def lose_it():
            wait_until((folder / "arrived").exists, lambda: "the first try submits", 300, every=0.2)
            proxy.refuse(True)
            (folder / "away").touch()
            wait_until(lambda: proxy.refused, lambda: "the first try asks for the application", 60)
            proxy.refuse(False)

        connect(monkeypatch, proxy.port)
        with meanwhile(lose_it):
            done = run(deferring(stream, "copy", copies, retries=2), DAY)
    [app] = applications(yarn)
    assert done.tries("submit") == 2
    assert f"Found again: {app['id']}" in capfd.readouterr().out
    assert done.result("submit")["output"]["events"] == len(EVENTS)
    assert contents(client, copies) == EVENTS


def test_an_application_that_arrives_late_is_refused_when_it_begins(
    run, client, stream, write, deferring, yarn, meanwhile, spark_submit_once, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    wait = "while [ ! -e {folder}/late ]; do sleep 0.2; done"
    folder = spark_submit_once(f'({wait}; exec {{real}} "$@") </dev/null >/dev/null 2>&1 & exit 1')

    def arrive_late():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the second try submits", 300, every=0.5)
        (folder / "late").touch()

    with meanwhile(arrive_late):
        done = run(deferring(stream, "copy", copies, retries=1), DAY)
    assert done.tries("submit") == 2
    assert "If its program has arrived, it is refused when it begins" in capfd.readouterr().out
    wait_until(
        lambda: [app["finalStatus"] for app in applications(yarn)] == ["SUCCEEDED", "FAILED"],
        lambda: f"the late one ends: {applications(yarn)}",
        300,
        every=1.0,
    )
    assert "was submitted again, or given up" in yarn.said_by(applications(yarn)[1]["id"])
    assert done.result("submit")["output"]["written"] is True
    assert contents(client, copies) == EVENTS


def test_a_task_waits_while_the_resource_manager_is_away(
    run, client, stream, write, deferring, yarn, meanwhile, tmp_path, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")

    def be_away():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the task submits", 300, every=0.5)
        try:
            wait_until(lambda: applications(yarn)[0]["state"] == "RUNNING", lambda: "the driver runs", 300, every=0.5)
            yarn.kill_manager()
            wait_until(lambda: "no ResourceManager answers" in said(), lambda: "the trigger asks", 120, every=0.5)
        finally:
            yarn.start_manager()
            (tmp_path / "signs" / "go").touch()

    texts = []

    def said():
        texts.append("".join(capfd.readouterr()))
        return "".join(texts)

    with meanwhile(be_away):
        done = run(deferring(stream, "waiting", copies), DAY)
    assert done.tries("submit") == 1
    assert contents(client, copies) == EVENTS
    [app] = applications(yarn)
    assert app["finalStatus"] == "SUCCEEDED"
