"""A standalone cluster of Spark: master and workers from the jars of PySpark, each a process that tests can kill.

A secret of Spark's, such as `spark.authenticate.secret`, goes to each process in a file that its owner alone can read:
what is given as `--conf` or `-D` is in the command lines that all users of a machine see.
"""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark
from tests.faults.process import ROOT, ProcessTree, wait_until
from tests.system.servers import free_ports, start_server

_HOME: Final = Path(pyspark.__path__[0])
_LOCALHOST: Final = "127.0.0.1"
_CORES: Final = "2"
_MEMORY: Final = "1g"  # of one executor


class SparkCluster:
    """A master, and the workers that are started; use it as a context manager.

    `properties` are settings of Spark for all of them, and, by `properties_file`, for a driver. With `takes_drivers`
    the master has a REST server, on `rest_port`.
    """

    def __init__(
        self, folder: Path, properties: Mapping[str, str] | None = None, *, takes_drivers: bool = False
    ) -> None:
        self.port, self.rest_port = free_ports(2)
        self._takes_drivers = takes_drivers
        if takes_drivers:
            rest = {"spark.master.rest.enabled": "true", "spark.master.rest.port": str(self.rest_port)}
            properties = {**(properties or {}), **rest}
        self.properties_file = folder / "spark.properties"
        self.properties_file.touch(mode=0o600)
        self.properties_file.write_text("".join(f"{name} {value}\n" for name, value in (properties or {}).items()))
        self._folder = folder
        self._environment = os.environ | {
            "SPARK_HOME": str(_HOME),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "SPARK_LOCAL_IP": _LOCALHOST,
        }
        self._running: list[ProcessTree] = []

    @property
    def host(self) -> str:
        """The host of the master."""
        return _LOCALHOST

    @property
    def url(self) -> str:
        """The address of the master, as Spark writes it."""
        return f"spark://{_LOCALHOST}:{self.port}"

    @property
    def rest_url(self) -> str:
        """The address of the master's REST server."""
        return f"http://{_LOCALHOST}:{self.rest_port}"

    def drivers(self) -> list[Path]:
        """The folders of the drivers that workers have started, oldest first: `stderr` and `stdout` of each."""
        return sorted(self._folder.glob("worker-*/driver-*"))

    def start_worker(self) -> ProcessTree:
        """Start a worker; it registers with the master by itself, and jobs wait for it."""
        work = self._folder / f"worker-{len(self._running)}"
        options = ["--cores", _CORES, "--memory", _MEMORY, "--work-dir", str(work)]
        return self._start("worker.Worker", "0", *options, self.url)

    def start_history(self, events: Path) -> int:
        """Start a history server for the event logs of a folder, which is made; its port."""
        events.mkdir(parents=True)
        [port] = free_ports(1)
        settings = self._folder / "history.properties"
        settings.write_text(
            f"spark.history.fs.logDirectory {events.as_uri()}\n"
            f"spark.history.ui.port {port}\n"
            "spark.history.fs.update.interval 1s\n"
        )
        command = [str(_HOME / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
        command += ["--properties-file", str(settings)]
        self._running.append(start_server(command, self._folder / "history.log", self._environment))
        return port

    def _start(self, kind: str, port: str, *words: str) -> ProcessTree:
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        command += ["--host", _LOCALHOST, "--port", port, "--webui-port", "0"]
        command += ["--properties-file", str(self.properties_file), *words]
        started = start_server(command, self._folder / f"{len(self._running)}.log", self._environment)
        self._running.append(started)
        return started

    def __enter__(self) -> Self:
        master = self._start("master.Master", str(self.port))
        try:
            ports = [self.port, *([self.rest_port] if self._takes_drivers else [])]
            wait_until(lambda: all(map(_answers, ports)), lambda: f"the master listens: {master.said()}", every=0.5)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill all that was started."""
        for started in reversed(self._running):
            started.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection((_LOCALHOST, port), timeout=1).close()
    except OSError:
        return False
    return True
