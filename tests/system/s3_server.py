"""An S3 server as a process, for tests of tables in object stores: that of moto, which has conditional puts."""

import sys
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.faults.process import ProcessTree, wait_until
from tests.system.servers import start_server

BUCKET = "lake"


class S3Server:
    """A running server with one bucket; use it as a context manager. What it says goes to `log`.

    Args:
        port: a free port.
        log: a file.
    """

    def __init__(self, port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self._log = log
        self._server: ProcessTree

    def environment(self) -> dict[str, str]:
        """The variables by which libraries find it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "not a secret",
            "AWS_REGION": "us-east-1",
        }

    def __enter__(self) -> Self:
        self._server = start_server(self._command, self._log, {})
        wait_until(self._makes_the_bucket, self._server.said, every=0.2)
        return self

    def _makes_the_bucket(self) -> bool:
        try:
            with urlopen(Request(f"{self.url}/{BUCKET}", method="PUT")) as answer:
                return bool(answer.status == 200)
        except URLError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.process.kill()
        self._server.process.wait()
