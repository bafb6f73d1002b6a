"""Programs on drivers by a real API server of Kubernetes, while the task waits on the triggerer; no container runs."""

import asyncio
import json
import os
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faults.process import wait_until
from tests.faults.proxy import Proxy
from tests.integration.airflow_pravega.test_spark_deferred import is_noted, job_of, submission_in
from tests.integration.airflow_pravega.test_spark_submit import DAY, EVENTS, contents, record_of, submission
from tests.system.kube_cluster import NAMESPACE, KubeCluster, missing
from tests.system.kubelet import NO_IMAGE, QUICK, Kubelet

from aiopravega import StreamName
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from pravega_jobs.remote.reports import TABLE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("spark_submit"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
ACCESS = {"namespace": NAMESPACE, "kubernetes_conn_id": "kube"}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    with KubeCluster(tmp_path_factory.mktemp("kubernetes")) as started:
        yield started


@pytest.fixture
def kubernetes(running, monkeypatch):
    """The cluster, and a connection to it; it has no pods before."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig("submitter")))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark sets the address of a driver in a pod itself, and refuses another one.
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", QUICK)
    connect(monkeypatch, running.port)
    as_account(monkeypatch, running.kubeconfig("airflow"))
    running.known = {pod["metadata"]["uid"] for pod in running.pods()}
    return running


@pytest.fixture
def kubelet(kubernetes, tmp_path_factory):
    with Kubelet(kubernetes, tmp_path_factory.mktemp("kubelet")) as started:
        yield started


def connect(monkeypatch, port, **extra):
    extra = {"deploy-mode": "cluster", "namespace": NAMESPACE, "kubernetes_conn_id": "kube"} | extra
    fields = {"conn_type": "spark", "host": "k8s://https://127.0.0.1", "port": port, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))


def as_account(monkeypatch, kubeconfig):
    fields = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(kubeconfig)}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps(fields))


def drivers(kubernetes):
    """The pods of this test, oldest first."""
    return [pod for pod in kubernetes.pods() if pod["metadata"]["uid"] not in kubernetes.known]


def phases(kubernetes):
    return [pod["status"]["phase"] for pod in drivers(kubernetes)]


@pytest.fixture
def texts(capfd):
    """All that was said so far."""
    found = []

    def texts():
        found.extend(capfd.readouterr())
        return "".join(found)

    return texts


@pytest.fixture
def deferring(tmp_path, kubelet):
    """`submission` with a folder; its task waits on the triggerer."""
    folder = tmp_path / "signs"
    folder.mkdir()

    def deferring(*arguments, conf=None, **more):
        dag = submission(
            folder,
            *arguments,
            deferrable=True,
            poll_interval=0.5,
            executor_memory="512m",
            driver_memory="512m",
            conf={**kubelet.conf, **(conf or {})},
            **more,
        )
        task: Any = dag.get_task("submit")
        task.application = f"local://{task.application}"  # a file of the image
        return dag

    return deferring


def test_a_deferred_program_in_a_pod_writes_its_range_once(run, client, stream, write, deferring, kubernetes, capfd):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "copy", copies), DAY)
    cuts, found = done.result("wait"), done.result("submit")
    assert (found["events"], found["reported"]) == (len(EVENTS), {"rows": len(EVENTS)})
    assert found["output"]["write_id"] == job_of(stream)
    assert contents(client, copies) == EVENTS
    assert record_of(client, stream, cuts).is_done
    assert list(client.table(stream.scope, TABLE).entries()) == []
    [pod] = drivers(kubernetes)
    assert pod["status"]["phase"] == "Succeeded"
    name = pod["metadata"]["name"]
    assert f"{NAMESPACE}:{name} is Running on node-1: shown by kubectl logs" in capfd.readouterr().out


def test_a_program_in_a_pod_that_is_killed_twice_is_submitted_again(
    run, client, stream, write, deferring, kubernetes, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    done = run(deferring(stream, "deadly", copies, retries=2), DAY)
    assert phases(kubernetes) == ["Failed", "Failed", "Succeeded"]
    assert done.tries("submit") == 3
    assert done.result("submit")["output"]["written"] is False
    assert contents(client, copies) == EVENTS
    said = "".join(capfd.readouterr())
    assert re.search(r"has ended as Failed on node-1: its output is shown by kubectl logs .*exit code \d+", said)


def test_a_pod_whose_submission_was_lost_is_found_by_its_label(
    run, client, stream, write, deferring, kubernetes, monkeypatch, meanwhile, spark_submit_once, capfd
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    script = '{real} "$@"; touch {folder}/arrived; while [ ! -e {folder}/away ]; do sleep 0.2; done; exit 1'
    folder = spark_submit_once(script)
    with Proxy(kubernetes.port) as proxy:

        def lose_it():
            wait_until((folder / "arrived").exists, lambda: "the first try submits", 300, every=0.2)
            wait_until(lambda: phases(kubernetes) == ["Running"], lambda: "the pod runs", 60, every=0.2)
            proxy.refuse(True)
            (folder / "away").touch()
            wait_until(lambda: proxy.refused, lambda: "the first try asks for the pod", 60)
            proxy.refuse(False)

        connect(monkeypatch, proxy.port)
        with meanwhile(lose_it):
            done = run(deferring(stream, "copy", copies, retries=2), DAY)
    [pod] = drivers(kubernetes)
    assert done.tries("submit") == 2
    assert f"Found again: {NAMESPACE}:{pod['metadata']['name']}" in capfd.readouterr().out
    assert done.result("submit")["output"]["events"] == len(EVENTS)
    assert contents(client, copies) == EVENTS


def test_a_pod_that_waits_after_its_submission_was_lost_is_replaced(
    run, client, stream, write, deferring, kubernetes, kubelet, meanwhile, spark_submit_once
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")
    kubelet.is_paused = True
    folder = spark_submit_once('{real} "$@"; exit 1')
    first = []

    def lose_it():
        wait_until((folder / "called").exists, lambda: "the first try submits", 300, every=0.2)
        wait_until(lambda: drivers(kubernetes), lambda: "the pod is there", 300, every=0.2)
        first.extend(drivers(kubernetes))
        wait_until(lambda: not drivers(kubernetes), lambda: "the pod is deleted", 300, every=0.2)
        kubelet.is_paused = False

    with meanwhile(lose_it):
        done = run(deferring(stream, "copy", copies, retries=2), DAY)
    [pod] = drivers(kubernetes)
    assert pod["metadata"]["uid"] != first[0]["metadata"]["uid"]
    assert done.tries("submit") == 2
    assert contents(client, copies) == EVENTS


def test_a_pod_is_deleted_with_its_task(run, client, stream, write, deferring, kubernetes):
    write(*EVENTS)
    done = run(deferring(stream, "waiting", execution_timeout=timedelta(seconds=90)), DAY)
    assert done.state("submit") == "failed"
    [record] = client.cut_ledger(stream.scope).records("submitted", stream)
    assert "ran longer than the execution_timeout" in record.reason
    wait_until(lambda: not drivers(kubernetes), lambda: f"the pod is deleted: {phases(kubernetes)}", 60, every=0.5)
    assert list(client.table(stream.scope, TABLE).entries()) == []


def test_a_person_ends_a_pod_that_lacks_its_image(run, client, stream, write, deferring, kubernetes, meanwhile, texts):
    write(*EVENTS)

    def end_by_a_person():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the task submits", 300, every=0.5)
        wait_until(lambda: "ImagePullBackOff" in texts(), lambda: "the log names the reason", 60, every=0.5)
        found = submission_in(client, stream.scope)
        trigger = PravegaSparkDriverTrigger(
            cluster="kubernetes",
            servers=[kubernetes.url],
            driver=found.driver,
            job={"scope": stream.scope, "job": job_of(stream), "submission": found.submission},
            watcher=found.watcher,
            poll_interval=1.0,
            pravega_conn_id="pravega_default",
            carried={},
            access=ACCESS,
        )
        asyncio.run(trigger.on_kill())

    with meanwhile(end_by_a_person):
        done = run(deferring(stream, "waiting", conf={"spark.kubernetes.container.image": NO_IMAGE}), DAY)
    assert done.state("submit") == "failed"
    assert f'is Pending (ImagePullBackOff: Back-off pulling image "{NO_IMAGE}") on node-1' in texts()
    assert "knows jobs:" in texts()
    assert "Its pod was deleted" in texts()
    assert drivers(kubernetes) == []
    assert list(client.table(stream.scope, TABLE).entries()) == []


def test_a_task_waits_while_the_api_server_is_away(
    run, client, stream, write, deferring, kubernetes, meanwhile, tmp_path, texts
):
    write(*EVENTS)
    copies = StreamName(stream.scope, "copies")

    def be_away():
        wait_until(lambda: is_noted(client, stream.scope), lambda: "the task submits", 300, every=0.5)
        try:
            wait_until(lambda: phases(kubernetes) == ["Running"], lambda: "the driver runs", 300, every=0.5)
            wait_until(lambda: kubernetes.pods("executor"), lambda: "the executor is asked for", 300, every=0.5)
            kubernetes.kill_server()
            wait_until(lambda: "no API server of Kubernetes answers" in texts(), lambda: "the trigger asks", 120)
        finally:
            kubernetes.start_server()
            (tmp_path / "signs" / "go").touch()

    with meanwhile(be_away):
        done = run(deferring(stream, "waiting", copies), DAY)
    assert done.tries("submit") == 1
    assert contents(client, copies) == EVENTS
    assert phases(kubernetes) == ["Succeeded"]


@pytest.mark.parametrize(
    ("account", "token", "said"),
    [("nobody", None, 'answers 403 (pods is forbidden: User "nobody" cannot list'), ("wrong", "x", "answers 401 (Una")],
)
def test_an_account_without_rights_is_refused_by_name(
    run, client, stream, write, deferring, kubernetes, monkeypatch, account, token, said
):
    write(*EVENTS)
    as_account(monkeypatch, kubernetes.kubeconfig(account, token))
    done = run(deferring(stream, "copy", retries=1), DAY)
    assert (done.state("submit"), done.tries("submit")) == ("failed", 1)
    [record] = client.cut_ledger(stream.scope).records("submitted", stream)
    assert said in record.reason
    assert drivers(kubernetes) == []
