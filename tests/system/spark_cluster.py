"""A standalone cluster of Spark: master and workers from the jars of PySpark, each a process that tests can kill."""

import os
import socket
import sys
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
    """A master, and the workers that are started; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.port = free_ports(1)[0]
        self._folder = folder
        self._environment = os.environ | {
            "SPARK_HOME": str(_HOME),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": _LOCALHOST,
        }
        self._running: list[ProcessTree] = []

    @property
    def host(self) -> str:
        """The host of the master."""
        return _LOCALHOST

    def start_worker(self) -> ProcessTree:
        """Start a worker; it registers with the master by itself, and jobs wait for it."""
        work = self._folder / f"worker-{len(self._running)}"
        options = ["--cores", _CORES, "--memory", _MEMORY, "--work-dir", str(work)]
        return self._start("worker.Worker", "0", *options, f"spark://{_LOCALHOST}:{self.port}")

    def _start(self, kind: str, port: str, *words: str) -> ProcessTree:
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        command += ["--host", _LOCALHOST, "--port", port, "--webui-port", "0", *words]
        started = start_server(command, self._folder / f"{len(self._running)}.log", self._environment)
        self._running.append(started)
        return started

    def _answers(self) -> bool:
        try:
            socket.create_connection((_LOCALHOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def __enter__(self) -> Self:
        master = self._start("master.Master", str(self.port))
        try:
            wait_until(self._answers, lambda: f"the master listens: {master.said()}", every=0.5)
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
