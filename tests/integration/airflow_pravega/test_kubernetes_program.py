"""Programs that a real `spark-submit` makes pods of, on a real API server of Kubernetes; no container runs."""

import asyncio
import json
import os
import sys
from functools import partial
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from tests.faults.process import wait_until
from tests.system.kube_cluster import NAMESPACE, KubeCluster, missing
from tests.system.kubelet import NO_IMAGE, QUICK, Kubelet

from airflow_pravega.spark.drivers import DriverStatus
from airflow_pravega.spark.submission import hook_from, program_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
SECRET = "canary-of-pravega"
PROGRAM = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("rows:", spark.range(100).repartition(2).count(), "variables:", os.environ["PRAVEGA_PASSWORD"], os.environ["OWN"])
"""


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory):
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    with KubeCluster(tmp_path_factory.mktemp("kubernetes")) as started:
        started.make("secrets", "pravega", stringData={"password": SECRET})
        yield started


@pytest.fixture
def kubelet(kubernetes, tmp_path_factory):
    with Kubelet(kubernetes, tmp_path_factory.mktemp("kubelet")) as started:
        yield started


@pytest.fixture
def program(kubernetes, kubelet, monkeypatch, tmp_path):
    """Makes the program, with settings of Spark."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(kubernetes.kubeconfig("submitter")))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", QUICK)
    monkeypatch.delenv("SPARK_CONF_DIR")
    extra = {"kube_config_path": str(kubernetes.kubeconfig("airflow"))}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    extra = {"deploy-mode": "cluster", "namespace": NAMESPACE, "kubernetes_conn_id": "kube"}
    fields = {"conn_type": "spark", "host": f"k8s://{kubernetes.url}", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    (tmp_path / "program.py").write_text(PROGRAM)

    def program(**conf):
        settings = kubelet.conf | {f"spark.kubernetes.{key}": value for key, value in conf.items()}
        made = partial(
            SparkSubmitHook, conf=settings, env_vars={"OWN": "own"}, driver_memory="512m", executor_memory="512m"
        )
        return program_of(hook_from(made), f"local://{tmp_path / 'program.py'}", "a/job at 2026-01-01T00:00:00+00:00")

    return program


def test_a_program_in_a_pod_gets_its_secret_from_the_cluster(kubernetes, kubelet, program):
    made = program(**{"driver.secretKeyRef.PRAVEGA_PASSWORD": "pravega:password"})
    driver = asyncio.run(made.submit("one", {}))
    assert asyncio.run(made.drivers.find("one")) == driver

    def status():
        return asyncio.run(made.drivers.status(driver))

    name = driver.partition(":")[2]
    wait_until(lambda: not status().is_active, lambda: f"{status()}: {kubelet.said_by(name)[-3000:]}", 300, every=0.5)
    assert status() == DriverStatus(
        "Succeeded",
        has_ended_well=True,
        node="node-1",
        output=f"shown by kubectl logs --namespace {NAMESPACE} {name}",
    )
    assert f"rows: 100 variables: {SECRET} own" in kubelet.said_by(name)
    [pod] = kubernetes.pods()
    assert pod["metadata"]["labels"]["pravega-submission"] == "one"
    assert SECRET not in json.dumps(pod) + json.dumps(made.words) + json.dumps(dict(made.settings))


def test_a_pod_without_its_image_says_why_and_is_deleted(program):
    made = program(**{"container.image": NO_IMAGE})
    driver = asyncio.run(made.submit("two", {}))

    def state():
        return asyncio.run(made.drivers.status(driver)).state

    said = f'Pending (ImagePullBackOff: Back-off pulling image "{NO_IMAGE}")'
    wait_until(lambda: state() == said, lambda: str(state()), 60, every=0.5)
    asyncio.run(made.drivers.kill(driver))
    wait_until(lambda: state() is None, lambda: str(state()), 60, every=0.5)
    assert asyncio.run(made.drivers.find("two")) is None
