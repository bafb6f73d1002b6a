"""Credentials of Airflow's connection for a real API server of Kubernetes."""

import asyncio
import json

import pytest
from tests.system.kube_cluster import NAMESPACE, KubeCluster, missing

from aiopravega.errors import ConfigurationError, PravegaConnectionError
from airflow_pravega.spark.kubernetes import KubernetesDrivers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory):
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    with KubeCluster(tmp_path_factory.mktemp("kubernetes")) as started:
        yield started


def use(monkeypatch, kubeconfig):
    """Make a connection that names the file."""
    fields = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(kubeconfig)}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBE", json.dumps(fields))


def known(kubernetes):
    return KubernetesDrivers([kubernetes.url], {"namespace": NAMESPACE, "kubernetes_conn_id": "kube"})


def test_a_token_that_was_replaced_is_read_again(kubernetes, monkeypatch):
    path = kubernetes.kubeconfig("airflow")
    use(monkeypatch, path)
    text, found = path.read_text(), known(kubernetes)
    path.write_text(text.replace("token-of-airflow", "replaced"))
    with pytest.raises(ConfigurationError, match="answers 401"):
        asyncio.run(found.find("nothing"))
    path.write_text(text)
    assert asyncio.run(found.find("nothing")) is None


def test_a_plugin_gives_the_token(kubernetes, monkeypatch, tmp_path):
    path = kubernetes.kubeconfig("airflow")
    content = json.loads(path.read_text())
    plugin = tmp_path / "plugin"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": kubernetes.tokens["airflow"]},
    }
    content["users"][0]["user"] = {
        "exec": {"apiVersion": answer["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}
    }
    own = tmp_path / "kubeconfig"
    own.write_text(json.dumps(content))
    use(monkeypatch, own)
    found = known(kubernetes)
    with pytest.raises(ConfigurationError, match="no credentials of Kubernetes by the connection 'kube'"):
        asyncio.run(found.find("nothing"))
    plugin.write_text("#!/bin/sh\necho the session has ended >&2\nexit 1\n")
    plugin.chmod(0o755)
    with pytest.raises(PravegaConnectionError, match="the session has ended"):
        asyncio.run(found.find("nothing"))
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    assert asyncio.run(found.find("nothing")) is None
