"""A MariaDB whose changes Debezium reads, asked by its own client: no Python driver is needed."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Self

from tests.faults.process import ProcessTree, wait_until
from tests.system.cdc.load import AwayError
from tests.system.cdc.needed import mariadb_program
from tests.system.servers import free_ports

_DATABASE: Final = "shop"
_USER: Final = "shop"
# It refuses to run as root.
_UNPRIVILEGED: Final = "nobody"
_SETTINGS: Final = {
    "bind-address": "127.0.0.1",
    "log-bin": "changes",
    "binlog-format": "row",
    "binlog-row-image": "full",
    "server-id": "7",
    "max-binlog-size": "1048576",  # so that positions of several files are compared
    "character-set-server": "utf8mb4",
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "2",  # a kill of the process does not take what the system has
}
_MAKE: Final = f"""
create database {_DATABASE};
create user {_USER}@'%' identified by '{_USER}';
grant all on *.* to {_USER}@'%';
use {_DATABASE};
create table accounts (id int primary key, owner text not null, balance decimal(12,2), opened date,
  seen datetime(6), note text);
create table order_items (order_id int, line int, sku varchar(40), qty bigint not null default 1, big longtext,
  primary key (order_id, line));
create table extras (id int primary key, n int, big longtext, note text);
"""
# How columns of rows that the client prints as JSON become what Spark has.
_VALUES: Final[dict[str, Callable[[str], Any]]] = {
    "balance": Decimal,
    "opened": date.fromisoformat,
    "seen": datetime.fromisoformat,
}
_AWAY: Final = ("ERROR 2002", "ERROR 2003", "ERROR 2006", "ERROR 2013", "ERROR 1053", "ERROR 1927")


class MariaDB:
    """One database with the two tables; use it as a context manager."""

    schema = _DATABASE

    def __init__(self, folder: Path) -> None:
        [self._port] = free_ports(1)
        self._log = folder / "mariadb.log"
        self._folder = tempfile.mkdtemp(prefix="mariadb-")  # pytest's own folders are closed for other users
        root = os.geteuid() == 0
        self._user: dict[str, Any] = {"user": _UNPRIVILEGED, "extra_groups": []} if root else {}
        if root:
            shutil.chown(self._folder, _UNPRIVILEGED)
        self._socket = f"{self._folder}/socket"

    def __enter__(self) -> Self:
        make = [mariadb_program("mariadb-install-db"), "--no-defaults", f"--datadir={self._folder}/data"]
        make += ["--auth-root-authentication-method=normal", "--skip-test-db"]
        with self._log.open("wb") as output:
            subprocess.run(make, check=True, cwd=self._folder, stdout=output, stderr=subprocess.STDOUT, **self._user)
        self.start()
        self._client(["--user=root", "--batch"], _MAKE)
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        shutil.rmtree(self._folder)

    def start(self) -> None:
        """Start it on the data that it has, and wait until it takes connections."""
        command = [mariadb_program("mariadbd"), "--no-defaults", f"--datadir={self._folder}/data"]
        command += [f"--port={self._port}", f"--socket={self._socket}", f"--pid-file={self._folder}/pid"]
        command += [f"--{name}={value}" for name, value in _SETTINGS.items()]
        with self._log.open("ab") as output:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                cwd=self._folder,
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
                **self._user,
            )
        self._server = ProcessTree(process, self._log)
        wait_until(self._answers, self._server.said, every=0.5)

    def _answers(self) -> bool:
        assert self._server.process.poll() is None, self._server.said()
        try:
            self._client(["--user=root", "--batch"], "select 1")
        except AwayError:
            return False
        return True

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._server.kill()

    def source(self, folder: Path) -> dict[str, str]:
        """The settings of Debezium's connector."""
        return {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "database.hostname": "127.0.0.1",
            "database.port": str(self._port),
            "database.user": _USER,
            "database.password": _USER,
            "database.server.id": "8",
            "database.include.list": _DATABASE,
            "table.include.list": ",".join(f"{_DATABASE}.{name}" for name in ("accounts", "order_items", "extras")),
            "connect.keep.alive.interval.ms": "2000",  # by default it finds a killed server after up to two minutes
            "database.ssl.mode": "disabled",  # the default is one that the driver refuses
            "bigint.unsigned.handling.mode": "precise",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(folder / "history.dat"),
        }

    def run(self, statements: str) -> None:
        """Run statements as one transaction."""
        self._client([f"--user={_USER}", f"--password={_USER}", "--batch", _DATABASE], f"begin;\n{statements};\ncommit")

    def rows(self, *queries: str) -> list[list[tuple[Any, ...]]]:
        """The answers to queries `select columns from table`; nothing must be written meanwhile."""
        answers = []
        for query in queries:
            names = query.removeprefix("select ").split(" from ")[0].split(", ")
            asked = f"select json_array({', '.join(map(_as_text, names))}) from {query.split(' from ')[1]}"
            options = [f"--user={_USER}", f"--password={_USER}", "--batch", "--raw", "--skip-column-names", _DATABASE]
            lines = self._client(options, asked).splitlines()
            answers.append([_row(names, json.loads(line)) for line in lines])
        return answers

    def _client(self, options: Sequence[str], statements: str) -> str:
        command = [mariadb_program("mariadb"), "--no-defaults", f"--socket={self._socket}"]
        command += ["--default-character-set=utf8mb4", *options]
        done = subprocess.run(command, check=False, capture_output=True, input=statements.encode())
        said = done.stderr.decode(errors="replace")
        if any(each in said for each in _AWAY):
            raise AwayError(said)
        assert done.returncode == 0, f"{statements}: {said}"
        return done.stdout.decode()


def _as_text(name: str) -> str:
    return f"cast({name} as char)" if name in _VALUES else name


def _row(names: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        _VALUES[name](value) if name in _VALUES and value is not None else value
        for name, value in zip(names, values, strict=True)
    )
