"""The pods of a control plane as processes of this machine: what a scheduler, a node and Spark's image do elsewhere.

There are no containers: a pod has the file system and the network of the machine, and its account's token as a file.
"""

import base64
import os
import shutil
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyspark
from tests.faults.process import ROOT, ProcessTree
from tests.system.kube_cluster import DRIVER, NAMESPACE, KubeCluster
from tests.system.servers import start_server

from pravega_emulator.java import find_java

NODE: Final = "node-1"
# An image that no registry has.
NO_IMAGE: Final = "no-such-image"
# Options of Java for processes that live for a minute.
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
_PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_SPARK_CONF: Final = "/opt/spark/conf"
_MERGE: Final = "application/merge-patch+json"
_EXECUTOR: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ADDRESS: Final = "127.0.0.1"


@dataclass
class _Container:
    """The process of a pod's container, which is killed if its pod is deleted."""

    tree: ProcessTree
    began: str
    is_done: bool = False


class Kubelet:
    """Runs the pods of a cluster while it is entered.

    `conf` has the settings of Spark for small programs. While `is_paused`, no pod begins.
    """

    def __init__(self, cluster: KubeCluster, folder: Path) -> None:
        self.is_paused = False
        self._cluster = cluster
        self._folder = folder
        self._containers: dict[str, _Container] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        own = "spark.kubernetes.authenticate.driver"
        token = folder / "token"
        self.conf = {
            "spark.kubernetes.container.image": "spark",
            "spark.kubernetes.driver.master": cluster.url,
            f"{own}.serviceAccountName": DRIVER,
            f"{own}.mounted.oauthTokenFile": str(token),
            f"{own}.mounted.caCertFile": str(cluster.certificate),
            "spark.executor.instances": "1",
            "spark.kubernetes.executor.deleteOnTermination": "true",
            "spark.kubernetes.allocation.batch.delay": "500ms",
            "spark.driver.extraJavaOptions": QUICK,
            "spark.executor.extraJavaOptions": QUICK,
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            # A machine may be busy with other things: nothing fails because it waits.
            "spark.network.timeout": "900s",
            "spark.executor.heartbeatInterval": "60s",
            # This machine is all nodes, and has few cores.
            "spark.kubernetes.driver.request.cores": "100m",
            "spark.kubernetes.executor.request.cores": "100m",
        }

    def __enter__(self) -> Self:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{DRIVER}/token"
        granted = self._cluster.ask("POST", path, {"spec": {"expirationSeconds": 7200}})
        (self._folder / "token").write_text(granted["status"]["token"])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(60)
        for container in self._containers.values():
            container.tree.kill()

    def said_by(self, pod: str) -> str:
        """The output of a pod."""
        return (self._folder / pod / "said.log").read_text(errors="replace")

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            try:
                for pod in self._cluster.ask("GET", _PODS)["items"]:
                    self._keep(pod)
            except Exception:  # noqa: BLE001  # the API server is away, or a pod was changed meanwhile
                (self._folder / "kubelet.log").open("a").write(traceback.format_exc())

    def _keep(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        container = self._containers.get(name)
        if "deletionTimestamp" in pod["metadata"]:
            if container is not None:
                container.tree.kill()
            self._cluster.ask("DELETE", f"{_PODS}/{name}?gracePeriodSeconds=0")
        elif container is not None and not container.is_done:
            self._note_its_end(pod, container)
        elif container is None and not self.is_paused:
            self._begin(pod)

    def _begin(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        if "nodeName" not in pod["spec"]:
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            self._cluster.ask("POST", f"{_PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})
        image = pod["spec"]["containers"][0]["image"]
        if image == NO_IMAGE:
            said = f'Back-off pulling image "{image}"'
            self._note(pod, "Pending", {"waiting": {"reason": "ImagePullBackOff", "message": said}})
        elif any(self._config(volume) is None for volume in pod["spec"]["volumes"] if "configMap" in volume):
            self._note(pod, "Pending", {"waiting": {"reason": "ContainerCreating"}})
        else:
            began = _now()
            folder = self._folder / name
            folder.mkdir()
            for volume in pod["spec"]["volumes"]:
                for key, text in (self._config(volume) or {}).items():
                    (folder / key).write_text(text)
            tree = start_server(self._command(pod, folder), folder / "said.log", self._environment(pod, folder), folder)
            self._containers[name] = _Container(tree, began)
            self._note(pod, "Running", {"running": {"startedAt": began}})

    def _note_its_end(self, pod: dict[str, Any], container: _Container) -> None:
        code = container.tree.process.poll()
        if code is None:
            return
        container.tree.kill()  # what it has left
        container.is_done = True
        ended = {"exitCode": code if code >= 0 else 128 - code, "startedAt": container.began, "finishedAt": _now()}
        ended["reason"] = "Completed" if code == 0 else "Error"
        self._note(pod, "Failed" if ended["exitCode"] else "Succeeded", {"terminated": ended})

    def _note(self, pod: dict[str, Any], phase: str, state: dict[str, Any]) -> None:
        [container] = pod["spec"]["containers"]
        is_running = "running" in state
        about = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        ready = {"type": "Ready", "status": str(is_running), "lastTransitionTime": _now()}
        status = {
            "phase": phase,
            "podIP": _ADDRESS,
            "podIPs": [{"ip": _ADDRESS}],
            "conditions": [ready],
            "containerStatuses": [{**about, "ready": is_running, "state": state}],
        }
        self._cluster.ask("PATCH", f"{_PODS}/{pod['metadata']['name']}/status", {"status": status}, _MERGE)

    def _config(self, volume: dict[str, Any]) -> dict[str, str] | None:
        """The files of a volume; None: what has them is not there (yet)."""
        if "configMap" not in volume:
            return {}
        found = self._cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{volume['configMap']['name']}")
        return None if found is None else found.get("data", {})

    def _environment(self, pod: dict[str, Any], folder: Path) -> dict[str, str]:
        """What the image of a node would have, and what the pod says."""
        kept = ("PATH", "HOME", "LANG", "JAVA_HOME")
        image = {name: os.environ[name] for name in kept if name in os.environ}
        paths = (str(ROOT), os.environ.get("PYTHONPATH"))
        image |= {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": _ADDRESS,
            "SPARK_HOME": str(pyspark.__path__[0]),
        }
        return image | dict(self._variables(pod)) | {"SPARK_CONF_DIR": str(folder)}

    def _variables(self, pod: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for each in pod["spec"]["containers"][0].get("env", ()):
            source = each.get("valueFrom", {})
            if "secretKeyRef" in source:
                wanted = source["secretKeyRef"]
                found = self._cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/{wanted['name']}")
                yield each["name"], base64.b64decode(found["data"][wanted["key"]]).decode()
            elif "fieldRef" in source:
                yield (
                    each["name"],
                    {"metadata.name": pod["metadata"]["name"]}.get(source["fieldRef"]["fieldPath"], _ADDRESS),
                )
            else:
                yield each["name"], each.get("value", "")

    def _command(self, pod: dict[str, Any], folder: Path) -> list[str | Path]:
        """What the entry point of Spark's image runs."""
        role, *words = pod["spec"]["containers"][0]["args"]
        variables = dict(self._variables(pod))
        if role == "driver":
            local = [f"spark.driver.{each}={_ADDRESS}" for each in ("bindAddress", "host")]  # no name service is here
            submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
            assert submit is not None
            words = [word.replace(_SPARK_CONF, str(folder)) for word in words]
            return [submit, *(word for each in local for word in ("--conf", each)), "--deploy-mode", "client", *words]
        memory = variables["SPARK_EXECUTOR_MEMORY"]
        options = [variables[name] for name in sorted(variables) if name.startswith("SPARK_JAVA_OPT_")]
        command: list[str | Path] = [find_java(), *options, f"-Xms{memory}", f"-Xmx{memory}"]
        command += ["-cp", f"{folder}:{Path(pyspark.__path__[0], 'jars')}/*", _EXECUTOR]
        for name, variable in {
            "driver-url": "DRIVER_URL",
            "executor-id": "EXECUTOR_ID",
            "cores": "EXECUTOR_CORES",
            "app-id": "APPLICATION_ID",
            "hostname": "EXECUTOR_POD_IP",
            "resourceProfileId": "RESOURCE_PROFILE_ID",
            "podName": "EXECUTOR_POD_NAME",
        }.items():
            command += [f"--{name}", variables[f"SPARK_{variable}"]]
        return command


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
