"""Debezium Server as a process: its settings, its start, `kill -9`, and a start again when it ended by itself."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.faults.process import ProcessTree, wait_until
from tests.system.cdc import needed
from tests.system.servers import free_ports, start_server

PREFIX: Final = "shop"
# As docs/how-to/set-up-debezium.md says, so that nothing is lost.
_SETTINGS: Final = {
    "debezium.sink.type": "pravega",
    "debezium.sink.pravega.transaction": "false",
    "debezium.format.schemas.enable": "false",
    "debezium.source.topic.prefix": PREFIX,
    "debezium.source.tombstones.on.delete": "false",
    "debezium.source.skipped.operations": "none",
    "debezium.source.decimal.handling.mode": "string",
    "debezium.source.offset.flush.interval.ms": "0",
    "debezium.source.provide.transaction.metadata": "true",
    "debezium.transforms": "under",
    "debezium.transforms.under.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "debezium.transforms.under.regex": "(.*)_(.*)",
    "debezium.transforms.under.replacement": "$1-$2",
    "quarkus.log.console.json": "false",
}
_READY: Final = "Starting streaming"


class Debezium:
    """One server.

    Args:
        folder: for its settings, its offsets and its log.
        controller: of Pravega.
        scope: of the streams, which must exist.
        source: settings of the connector, without `debezium.source.`.
    """

    def __init__(self, folder: Path, controller: str, scope: str, source: Mapping[str, str]) -> None:
        self.folder = folder
        self.log = folder / "debezium.log"
        uri = urlsplit(controller)
        [port] = free_ports(1)
        self.settings = {
            **_SETTINGS,
            "debezium.sink.pravega.controller.uri": f"tcp://{uri.hostname}:{uri.port}",
            "debezium.sink.pravega.scope": scope,
            "debezium.source.offset.storage.file.filename": str(folder / "offsets.dat"),
            "quarkus.http.port": str(port),
            **{f"debezium.source.{name}": value for name, value in source.items()},
        }
        self.ended = 0
        self._running: ProcessTree | None = None

    def start(self) -> None:
        """Start it, and wait until it reads the log of the database."""
        config = self.folder / "config"
        config.mkdir(exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self.settings.items()]
        (config / "application.properties").write_text("".join(lines))
        before = self.log.stat().st_size if self.log.exists() else 0
        self._running = self._launch()

        def is_ready() -> bool:
            self.look_after()
            return _READY in self.log.read_bytes()[before:].decode(errors="replace")

        wait_until(is_ready, self.said, every=0.2)

    def _launch(self) -> ProcessTree:
        home = needed.debezium()
        [runner] = home.glob("debezium-server-*-runner.jar")
        path = os.pathsep.join([str(runner), str(self.folder / "config"), f"{home}/lib/*"])
        command = [str(needed.java()), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        working = f"-Duser.dir={self.folder}"
        command += [working, "-cp", path, "io.debezium.server.Main"]
        return start_server(["env", "-C", str(self.folder), *command], self.log, os.environ)

    def look_after(self) -> None:
        """Start it again if it has ended by itself, as a service manager does."""
        assert self._running is not None
        if self._running.process.poll() is not None:
            self.ended += 1
            assert self.ended < 100, f"Debezium ends again and again: {self.said()}"
            self._running = self._launch()

    def kill(self) -> None:
        """End it as `kill -9` does."""
        if self._running is not None:
            self._running.kill()
            self._running = None

    def forget(self) -> None:
        """Let it begin with a snapshot again, as if it had been killed before it stored its first offset."""
        Path(self.settings["debezium.source.offset.storage.file.filename"]).unlink()

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""
