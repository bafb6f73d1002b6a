"""A PostgreSQL of the tests' own: its programs are started as a process, on a free port and in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.faults.process import ProcessTree, wait_until

# Where Debian's package has them.
_DEBIAN: Final = Path("/usr/lib/postgresql")
_USER: Final = "airflow"
# It refuses to run as root.
_UNPRIVILEGED: Final = "nobody"
# Nothing survives the test, so nothing has to be safe on disk.
_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


def find_programs() -> Path:
    """The folder of PostgreSQL's programs; the newest version that is installed."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    versions = [folder for folder in _DEBIAN.glob("*/bin") if (folder / "initdb").exists()]
    assert versions, (
        f"these tests need a PostgreSQL server, and there is no initdb on the path nor below {_DEBIAN}: "
        "install it, on Debian and Ubuntu by `apt-get install postgresql`"
    )
    return max(versions, key=lambda folder: float(folder.parent.name))


class Postgres:
    """A running server; use it as a context manager. What it says goes to `log`."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log
        self._folder = tempfile.mkdtemp(prefix="postgres-")  # pytest's own folders are closed for other users
        # A process of root's becomes another user's before it runs the program.
        root = os.geteuid() == 0
        self._as: dict[str, Any] = {"user": _UNPRIVILEGED, "extra_groups": []} if root else {}
        if root:
            shutil.chown(self._folder, _UNPRIVILEGED)

    def url(self, driver: str) -> str:
        """Its one database, for SQLAlchemy with a driver."""
        return f"postgresql+{driver}://{_USER}@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Self:
        programs = find_programs()
        data = f"{self._folder}/data"
        with self.log.open("wb") as output:
            common: dict[str, Any] = {"cwd": self._folder, "stdout": output, "stderr": subprocess.STDOUT, **self._as}
            make = [f"{programs}/initdb", "-D", data, "-U", _USER, "--auth=trust", "--encoding=UTF8", "--no-sync"]
            subprocess.run(make, check=True, **common)
            options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
            start = [f"{programs}/postgres", "-D", data, "-p", str(self.port), *options]
            server: subprocess.Popen[bytes] = subprocess.Popen(start, start_new_session=True, **common)
            self._server = ProcessTree(server, self.log)
        ask = [f"{programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until(lambda: subprocess.run(ask, check=False).returncode == 0, self._server.said, every=0.5)
        return self

    def dump(self) -> bytes:
        """All that is in the database, as text; a longer value as it is, and not compressed."""
        command = [f"{find_programs()}/pg_dump", "-h", "127.0.0.1", "-p", str(self.port), "-U", _USER, "postgres"]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.process.send_signal(signal.SIGINT)  # disconnects all clients, and ends
        self._server.process.wait()
        shutil.rmtree(self._folder)
