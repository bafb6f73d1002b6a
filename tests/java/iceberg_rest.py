"""The Iceberg project's own REST server, over a SQLite catalog; `python -m tests.java.iceberg_rest` fetches it."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import requests
from tests.faults.process import wait_until

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList
from pravega_emulator.java import find_java

_LOCK = Path(__file__).with_name("iceberg-rest.lock")
_MAIN = "org.apache.iceberg.rest.RESTCatalogServer"


def rest_jars() -> Path:
    """The folder of the server's jars."""
    return ensure_jars(JarList.from_text(_LOCK.read_text(encoding="utf-8")))


class IcebergRest:
    """A running server; use it as a context manager.

    Args:
        port: a free port.
        folder: for its catalog, its log, and the files of its tables.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.uri = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._settings = {
            "CATALOG_REST_PORT": str(port),
            "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
            "CATALOG_WAREHOUSE": f"file://{folder}/warehouse",
        }

    def __enter__(self) -> Self:
        pyspark = find_spec("pyspark")
        assert pyspark is not None
        assert pyspark.origin is not None
        hadoop = Path(pyspark.origin).with_name("jars").glob("hadoop-client-*.jar")
        path = os.pathsep.join([f"{rest_jars()}/*", *map(str, hadoop)])
        log = self._folder / "rest.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(find_java()), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, _MAIN],
                env={**os.environ, **self._settings},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_until(self._answers, lambda: log.read_text(encoding="utf-8"), every=0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self._folder / "rest.log").read_text(encoding="utf-8")
        try:
            return requests.get(f"{self.uri}/v1/config", timeout=5).ok
        except requests.ConnectionError:
            return False


if __name__ == "__main__":
    print(rest_jars())
