"""Drivers in pods as an API server describes them, without a cluster: the API server is played."""

import asyncio
import json
import logging
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException
from tests.integration.airflow_pravega.played_kubernetes import Server, pod

from aiopravega.errors import ConfigurationError, PravegaConnectionError, ServerError
from airflow_pravega.spark.drivers import DriverStatus
from airflow_pravega.spark.kubernetes import KubernetesDrivers
from airflow_pravega.spark.submission import DriverSubmission, check_ended_well, drivers_of, hook_from, program_of
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import JobReports, ReportAddress

pytest.importorskip("airflow.providers.cncf.kubernetes")
ACCESS = {"namespace": "jobs", "kubernetes_conn_id": "kube"}


@pytest.fixture
def connect(monkeypatch, tmp_path):
    """Makes the connection of Spark lead to Kubernetes, with a token in a file that another connection names."""
    path = tmp_path / "kubeconfig"
    content = {
        "clusters": [{"name": "one", "cluster": {"server": "http://elsewhere:1"}}],
        "users": [{"name": "airflow", "user": {"token": "canary-of-kubernetes"}}],
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "airflow"}}],
        "current-context": "one",
    }
    path.write_text(json.dumps(content))
    fields: dict[str, Any] = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(path), "kube_config": ""}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps(fields))

    def connect(address="http://cluster:6443", **extra):
        extra = {"deploy-mode": "cluster", **ACCESS, **extra}
        fields = {"conn_type": "spark", "host": f"k8s://{address}", "extra": {k: v for k, v in extra.items() if v}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    return connect


def program(**arguments) -> Any:
    return program_of(hook_from(partial(SparkSubmitHook, **arguments)), "local:///jobs/program.py", "job")


def test_a_pod_is_found_by_its_label_and_deleted(connect):
    connect()
    with Server() as server:
        drivers = drivers_of("kubernetes", [server.address], ACCESS)
        assert asyncio.run(drivers.find("one")) is None
        server.labelled["one"] = [
            pod("Failed", "old-driver", "2026-11-28T00:00:00Z"),
            pod("Running", "new-driver", "2026-11-29T00:00:00Z"),
        ]
        assert asyncio.run(drivers.find("one")) == "jobs:new-driver"
        assert asyncio.run(drivers.status("jobs:new-driver")).is_active
        asyncio.run(drivers.kill("jobs:new-driver"))
        asyncio.run(drivers.kill("jobs:new-driver"))  # which is not there any more
        assert asyncio.run(drivers.status("jobs:new-driver")) == DriverStatus(None)
    method, path, token = server.asked[-2]
    assert (method, path) == ("DELETE", "/api/v1/namespaces/jobs/pods/new-driver")
    # The cluster is that of the program; the credentials are those of the connection.
    assert token == "Bearer canary-of-kubernetes"


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((401, json.dumps({"message": "Unauthorized"})), ConfigurationError, "401 .Unauthorized.: the connection that"),
        (
            (403, json.dumps({"message": "User ada cannot"})),
            ConfigurationError,
            "403 .User ada cannot.: the connection",
        ),
        ((403, "<html>"), ConfigurationError, "403 .<html>."),
        ((200, "<html>"), ConfigurationError, "not the API server of Kubernetes"),
        ((404, "{}"), ConfigurationError, "refuses read_namespaced_pod"),
        ((400, json.dumps({"message": "no"})), ConfigurationError, "refuses read_namespaced_pod: no"),
        ((429, "later"), PravegaConnectionError, "answers 429: later"),
        ((500, "no"), PravegaConnectionError, "answers 500: no"),
    ],
)
def test_an_api_server_that_cannot_be_asked_is_named(connect, answer, error, said):
    connect()
    with Server(answer) as server, pytest.raises(error, match=said):
        asyncio.run(KubernetesDrivers([server.address], ACCESS).status("jobs:one"))
    if answer[0] == 401:
        assert len(server.asked) == 2
    with pytest.raises(PravegaConnectionError, match="no API server of Kubernetes answers"):
        asyncio.run(KubernetesDrivers([server.address], ACCESS).status("jobs:one"))


def test_a_refusal_after_an_answer_is_waited_out_for_a_time(connect, monkeypatch):
    connect()
    with Server() as server:
        drivers = drivers_of("kubernetes", [server.address], ACCESS)
        assert asyncio.run(drivers.find("one")) is None
        server.answer = 403, json.dumps({"message": "User ada cannot"})
        with pytest.raises(PravegaConnectionError, match="403 .User ada cannot., and has answered before"):
            asyncio.run(drivers.find("one"))
        monkeypatch.setattr("airflow_pravega.spark.kubernetes._REFUSING_SECONDS", -1.0)
        with pytest.raises(ConfigurationError, match="403 .User ada cannot."):
            asyncio.run(drivers.find("one"))


def test_credentials_that_are_not_there_are_named(connect, monkeypatch):
    connect()

    def refused(said, **access):
        with pytest.raises(ConfigurationError, match=said):
            asyncio.run(KubernetesDrivers(["http://cluster"], {**ACCESS, **access}).find("one"))

    refused("by the connection 'none' of Airflow: .*none", kubernetes_conn_id="none")
    fields = {"conn_type": "kubernetes", "extra": {"in_cluster": True}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps(fields))
    refused("by the connection 'kube' of Airflow: Service host/port is not set")
    fields = {"conn_type": "kubernetes", "extra": {"kube_config_path": "/none", "kube_config": "{}"}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps(fields))
    refused("by the connection 'kube' of Airflow: Invalid connection configuration")


def test_what_cannot_be_waited_for_on_kubernetes_is_refused(connect):
    def refused(said, extra=None, **arguments):
        connect(**(extra or {}))
        with pytest.raises(ConfigurationError, match=said):
            program(**arguments)

    refused("needs the namespace", {"namespace": ""})
    refused("a child of the worker", {"deploy-mode": "client"})
    refused("post_submit_commands", post_submit_commands=["true"])
    refused("waitAppCompletion=true keeps", conf={"spark.kubernetes.submission.waitAppCompletion": "true"})
    refused(r"PRAVEGA_PASSWORD would be .*secretKeyRef", env_vars={"PRAVEGA_PASSWORD": "canary", "A": "b"})
    refused("PRAVEGA_TOKEN would be", conf={"spark.kubernetes.driverEnv.PRAVEGA_TOKEN": "canary"})
    refused("PRAVEGA_TOKEN would be", conf={"spark.executorEnv.PRAVEGA_TOKEN": "canary"})
    refused("oauthToken would be on a command line", conf={"spark.kubernetes.authenticate.driver.oauthToken": "canary"})
    refused("has a pod of its own", conf={"spark.kubernetes.driver.pod.name": "mine"})


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://cluster:6443", "https://cluster:6443"),
        ("cluster:6443", "https://cluster:6443"),
        ("https://clusters/one/", "https://clusters/one"),
    ],
)
def test_the_host_of_the_connection_is_the_api_server(connect, address, server):
    connect(address, kubernetes_conn_id=None, namespace=None)
    made = program(conf={"spark.kubernetes.namespace": "nights"}, env_vars={"A": "b"})
    assert made.drivers.servers == (server,)
    assert made.drivers.access == {"namespace": "nights", "kubernetes_conn_id": "kubernetes_default"}
    secret = {"spark.kubernetes.driver.secretKeyRef.PRAVEGA_PASSWORD": "pravega:password"}
    other = program(conf={"spark.kubernetes.namespace": "nights", **secret}, env_vars={"A": "b"})
    assert made.name_of(WorkOrder({})) != other.name_of(WorkOrder({}))


def test_a_missing_package_is_refused_by_name(connect):
    connect()
    script = """
import asyncio, sys
for module in ("kube_client", "hooks.kubernetes"):
    sys.modules[f"airflow.providers.cncf.kubernetes.{module}"] = None
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from aiopravega.errors import ConfigurationError
from airflow_pravega.spark.submission import drivers_of, hook_from
def of_worker(): hook_from(SparkSubmitHook)
def of_triggerer():
    access = {"namespace": "jobs", "kubernetes_conn_id": "kube"}
    asyncio.run(drivers_of("kubernetes", ["http://cluster"], access).status("jobs:one"))
for ask in (of_worker, of_triggerer):
    try: ask()
    except ConfigurationError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = [line for line in done.stdout.splitlines() if "pip install" in line]
    assert len(found) == 2, done.stdout + done.stderr
    assert all("pip install 'airflow-provider-pravega[spark-kubernetes]'" in line for line in found)


def test_the_arguments_of_a_trigger_have_no_secrets(connect):
    connect()
    trigger = PravegaSparkDriverTrigger(
        cluster="kubernetes",
        servers=["http://cluster"],
        driver="jobs:one",
        job={},
        watcher="one",
        poll_interval=1.0,
        pravega_conn_id="pravega_default",
        carried={},
        access=ACCESS,
    )
    _, arguments = trigger.serialize()
    assert arguments["access"] == ACCESS
    assert "canary" not in json.dumps(arguments)


@pytest.fixture
def submission(client, scope, connect, tmp_path, monkeypatch):
    """Makes a submission; its `spark-submit` adds its words to a file, and ends with a status."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")

    def submission(server, status=0):
        (folder / "spark-submit").write_text(f'#!/bin/sh\necho "$@" >> {folder}/words\nexit {status}\n')
        (folder / "spark-submit").chmod(0o755)
        connect(server.address)
        made = program(env_vars={"A": "b"})
        return DriverSubmission(client.asynchronous, made, scope, "job", logging.getLogger())

    asking: Any = submission
    asking.words = folder / "words"
    return asking


@pytest.mark.parametrize("phase", ["Running", "Pending"])
def test_a_pod_is_taken_although_spark_submit_failed_if_it_has_begun(client, scope, submission, phase):
    with Server() as server:
        submitted = submission(server, status=1)

        def variables(address):
            server.labelled[address.submission] = [pod(phase)]
            return {"B": "c"}

        if phase == "Pending":
            with pytest.raises(AirflowException, match="Cannot execute"):
                client.run(submitted.submit(WorkOrder({}), variables, {}))
            assert list(server.labelled.values()) == [[]]
            return
        address = client.run(submitted.submit(WorkOrder({}), variables, {"spark.more": "1"}))
        assert submitted.named(address) == {
            "cluster": "kubernetes",
            "servers": [server.address],
            "access": ACCESS,
            "driver": "jobs:job-driver",
            "job": {"scope": scope, "job": "job", "submission": address.submission},
        }
        words = submission.words.read_text()
        for setting in (
            f"driver.label.pravega-submission={address.submission}",
            "submission.waitAppCompletion=false",
            "driverEnv.A=b",
            "driverEnv.B=c",
            "namespace=jobs",
        ):
            assert f"--conf spark.kubernetes.{setting} " in words
        assert f"--master k8s://{server.address} " in words
        assert "--conf spark.more=1 " in words
        assert "canary" not in words
        client.run(submitted.give_up())
        assert list(server.labelled.values()) == [[]]
    assert client.run(JobReports(client.asynchronous, address).newest()) is None


@pytest.mark.parametrize("phase", ["Running", "Pending", None])
def test_a_further_try_asks_for_the_label_of_an_earlier_one(client, scope, submission, phase, caplog):
    work = WorkOrder({})
    with Server() as server:
        # The first try was ended before it had noted its driver.
        with pytest.raises(AirflowException):
            client.run(submission(server, status=1).submit(work, lambda _: {}, {}))
        newest = client.run(JobReports(client.asynchronous, ReportAddress(scope, "job", "")).newest())
        assert newest is not None
        if phase is not None:
            server.labelled[newest[0].submission] = [pod(phase)]

        def variables(address):
            server.labelled[address.submission] = [pod("Running", "second-driver")]
            return {}

        further = submission(server)
        with caplog.at_level(logging.INFO):
            address = client.run(further.submit(work, variables, {}))
    is_found = phase == "Running"
    assert (address.submission == newest[0].submission) is is_found
    assert further.driver == ("jobs:job-driver" if is_found else "jobs:second-driver")
    assert ("Found again: jobs:job-driver" in caplog.text) is is_found
    assert ("while it submitted jobs:job-driver, which waits: killing it" in caplog.text) is (phase == "Pending")
    if phase == "Pending":
        assert server.labelled[newest[0].submission] == []


def test_a_pod_that_nobody_knows_is_named(client, submission):
    with Server() as server, pytest.raises(ServerError, match=r"no program with the name .* same namespace"):
        client.run(submission(server).submit(WorkOrder({}), lambda _: {}, {}))
    end = {"state": None, "is_active": False, "has_ended_well": False, "node": None, "output": None, "message": None}
    drivers = KubernetesDrivers(["http://cluster"], ACCESS)
    with pytest.raises(AirflowException, match="no API server of Kubernetes knows jobs:one .*Its pod was deleted"):
        check_ended_well({"end": end}, drivers, "jobs:one", has_reported=False)
    check_ended_well({"end": end}, drivers, "jobs:one", has_reported=True)
