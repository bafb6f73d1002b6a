"""A PostgreSQL of the tests' own: its programs are started as a process, on a free port and in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil
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
    """A running server; use it as a context manager. What it says goes to `log`.

    Args:
        port: a free port.
        log: a file.
        settings: of the server, beside those that all tests have.
    """

    def __init__(self, port: int, log: Path, settings: Mapping[str, str] | None = None) -> None:
        self.port = port
        self.log = log
        self._settings = _SETTINGS | dict(settings or {})
        self._folder = tempfile.mkdtemp(prefix="postgres-")  # pytest's own folders are closed for other users
        # A process of root's becomes another user's before it runs the program.
        root = os.geteuid() == 0
        user: dict[str, Any] = {"user": _UNPRIVILEGED, "extra_groups": []} if root else {}
        self._common = {"cwd": self._folder, **user}
        self._data = f"{self._folder}/data"
        if root:
            shutil.chown(self._folder, _UNPRIVILEGED)

    def url(self, driver: str) -> str:
        """Its one database, for SQLAlchemy with a driver."""
        return f"postgresql+{driver}://{_USER}@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Self:
        make = [f"{find_programs()}/initdb", "-D", self._data, "-U", _USER, "--auth=trust", "--encoding=UTF8"]
        with self.log.open("wb") as output:
            subprocess.run([*make, "--no-sync"], check=True, **self._common, stdout=output, stderr=subprocess.STDOUT)
        self.start()
        return self

    def start(self) -> None:
        """Start it on the data that it has, and wait until it takes connections."""
        programs = find_programs()
        options = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        start = [f"{programs}/postgres", "-D", self._data, "-p", str(self.port), *options]
        with self.log.open("ab") as output:
            server: subprocess.Popen[bytes] = subprocess.Popen(
                start, start_new_session=True, stdout=output, stderr=subprocess.STDOUT, **self._common
            )
        self._server = ProcessTree(server, self.log)
        ask = [f"{programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until(lambda: subprocess.run(ask, check=False).returncode == 0, self._server.said, every=0.5)

    def kill(self) -> None:
        """End it and all its processes, which have sessions of their own, as `kill -9` does."""
        parent = psutil.Process(self._server.process.pid)
        processes = [parent, *parent.children(recursive=True)]
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._server.process.wait()
        psutil.wait_procs(processes[1:])

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
