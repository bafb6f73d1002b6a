"""A cluster of YARN: a ResourceManager and a NodeManager as processes, whose file system is this machine's.

The jars come by `tests/java/yarn.lock` when a test needs them; `python -m tests.system.yarn_cluster` fetches them.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.request import urlopen
from xml.sax.saxutils import escape

import pyspark
from tests.faults.process import ProcessTree, send_signal, wait_until
from tests.system.servers import free_ports, start_server

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList
from pravega_emulator.java import QUICK_COMPILER, find_java

_LOCK: Final = Path(__file__).parents[1] / "java" / "yarn.lock"
_OPENS: Final = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util")]
_LOGGING: Final = """\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c: %m%n
"""


def yarn_jars() -> Path:
    """The folder of the jars of both servers."""
    return ensure_jars(JarList.from_text(_LOCK.read_text(encoding="utf-8")))


class YarnCluster:
    """A running cluster; use it as a context manager.

    `url` is the web address of the ResourceManager, on `port`; `environment` leads `spark-submit` to the cluster, and
    `conf` has the settings of Spark for small applications whose jars are those of PySpark.
    """

    def __init__(self, folder: Path) -> None:
        rpc, scheduler, tracker, admin, self.port, localizer, node = free_ports(7)
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {"HADOOP_CONF_DIR": str(folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.conf = {
            "spark.yarn.jars": f"local:{Path(pyspark.__path__[0], 'jars')}/*",
            "spark.yarn.stagingDir": (folder / "staging").as_uri(),
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable,
            "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
            # The name of the machine may lead to another address than the one that the driver listens on.
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.executor.instances": "1",
        }
        self._folder = folder
        self._manager: ProcessTree | None = None
        self._node: ProcessTree | None = None
        (folder / "conf").mkdir()
        settings = {
            "resourcemanager.address": f"127.0.0.1:{rpc}",
            "resourcemanager.scheduler.address": f"127.0.0.1:{scheduler}",
            "resourcemanager.resource-tracker.address": f"127.0.0.1:{tracker}",
            "resourcemanager.admin.address": f"127.0.0.1:{admin}",
            "resourcemanager.webapp.address": f"127.0.0.1:{self.port}",
            "resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
            "resourcemanager.connect.retry-interval.ms": "1000",
            # Applications live on while the ResourceManager is started again.
            "resourcemanager.recovery.enabled": "true",
            "resourcemanager.store.class": "org.apache.hadoop.yarn.server.resourcemanager.recovery."
            "FileSystemRMStateStore",
            "resourcemanager.fs.state-store.uri": (folder / "state").as_uri(),
            "resourcemanager.work-preserving-recovery.scheduling-wait-ms": "0",
            "nodemanager.address": "127.0.0.1:0",
            "nodemanager.localizer.address": f"127.0.0.1:{localizer}",
            "nodemanager.webapp.address": f"127.0.0.1:{node}",
            "nodemanager.local-dirs": str(folder / "local"),
            "nodemanager.log-dirs": str(folder / "logs"),
            "nodemanager.resource.memory-mb": "6144",
            "nodemanager.resource.cpu-vcores": "8",
            "nodemanager.vmem-check-enabled": "false",
            "nodemanager.pmem-check-enabled": "false",
            "nodemanager.disk-health-checker.enable": "false",
            "scheduler.minimum-allocation-mb": "128",
        }
        self._configure("yarn-site", {f"yarn.{name}": value for name, value in settings.items()})
        self._configure("core-site", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(folder / "tmp")})
        queues = {"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "1.0"}
        self._configure("capacity-scheduler", {f"yarn.scheduler.capacity.{key}": each for key, each in queues.items()})
        (folder / "conf" / "log4j.properties").write_text(_LOGGING)

    def __enter__(self) -> Self:
        try:
            self.start_manager()
            self._node = self._start("nodemanager.NodeManager")
            wait_until(self._has_node, self._node.said, 120, every=0.2)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def start_manager(self) -> None:
        """Start the ResourceManager, with the applications that an earlier one has left, and wait until it answers."""
        self._manager = self._start("resourcemanager.ResourceManager")
        wait_until(lambda: self._asked("info") is not None, self._manager.said, 120, every=0.2)

    def kill_manager(self) -> None:
        """Kill the ResourceManager; its applications live on."""
        assert self._manager is not None
        self._manager.kill()

    def applications(self) -> list[dict[str, Any]]:
        """All applications as the ResourceManager describes them, oldest first."""
        found = self._asked("apps")
        assert found is not None
        return sorted((found["apps"] or {}).get("app", []), key=lambda app: str(app["id"]))

    def said_by(self, application: str) -> str:
        """The output of the driver of an application, and of its program."""
        return "".join(path.read_text() for path in self._folder.glob(f"logs/{application}/*_01_000001/std*"))

    def end(self) -> None:
        """Kill both servers, and what the NodeManager has started: each in a session of its own, in its folder."""
        for server in filter(None, (self._node, self._manager)):
            server.kill()
        while sum([send_signal(pid, signal.SIGKILL) for pid in self._containers()]):
            pass
        shutil.rmtree(self._folder / "local", ignore_errors=True)

    def _containers(self) -> Iterator[int]:
        local = self._folder / "local"
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and (entry / "cwd").readlink().is_relative_to(local):
                    yield int(entry.name)
            except OSError:
                pass  # it ended meanwhile

    def _has_node(self) -> bool:
        found = self._asked("nodes")
        return found is not None and any(each["state"] == "RUNNING" for each in (found["nodes"] or {}).get("node", []))

    def _asked(self, about: str) -> Any:
        try:
            with urlopen(f"{self.url}/ws/v1/cluster/{about}", timeout=10) as answer:
                return json.load(answer)
        except (URLError, OSError):
            return None

    def _configure(self, name: str, settings: Mapping[str, str]) -> None:
        lines = (
            f"<property><name>{key}</name><value>{escape(each)}</value></property>" for key, each in settings.items()
        )
        text = f"<configuration>{''.join(lines)}</configuration>"
        (self._folder / "conf" / f"{name}.xml").write_text(text, encoding="utf-8")

    def _start(self, server: str) -> ProcessTree:
        java = find_java()
        command = [java, "-Xmx384m", "-XX:+UseSerialGC", QUICK_COMPILER, *_OPENS]
        command += ["-cp", f"{self._folder / 'conf'}:{yarn_jars()}/*", f"org.apache.hadoop.yarn.server.{server}"]
        # Containers start Java from there.
        environment = os.environ | {"JAVA_HOME": str(Path(java).resolve().parents[1])}
        return start_server(command, self._folder / f"{server}.log", environment, self._folder)


if __name__ == "__main__":
    print(yarn_jars())
