"""A Spark Connect server from the jars of PySpark, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark
from tests.faults.process import wait_until
from tests.system.servers import start_server

_SECONDS: Final = 600
_STARTED: Final = re.compile(r"Spark Connect server started at: (\S+:\d+)")


class SparkConnect:
    """The server, and its `url`; use it as a context manager. Port 0 is a free one."""

    url: str

    def __init__(self, folder: Path, port: int = 0) -> None:
        home = Path(pyspark.__path__[0])
        settings = {
            "spark.connect.grpc.binding.port": str(port),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        command = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        variables = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_CONNECT_MODE": "0"}
        self.tree = start_server(command, folder / "connect.log", os.environ | variables, folder)

    def __enter__(self) -> Self:
        try:
            wait_until(self._has_started, self.tree.said, _SECONDS, every=0.1)
            self._ask()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self.tree.process.terminate()
        self.tree.process.wait(_SECONDS)

    def _has_started(self) -> bool:
        assert self.tree.process.poll() is None, f"Spark Connect did not start: {self.tree.said()}"
        found = _STARTED.search(self.tree.log.read_text(encoding="utf-8", errors="replace"))
        if found:
            self.url = f"sc://{found[1]}"
        return found is not None

    def _ask(self) -> None:
        """Only a process of its own can ask: PySpark remembers in the environment that it has talked Spark Connect."""
        question = (
            "from pyspark.sql import SparkSession; "
            f"print(SparkSession.builder.remote({self.url!r}).getOrCreate().version)"
        )
        subprocess.run([sys.executable, "-c", question], check=True, timeout=_SECONDS, capture_output=True)
