"""A real Pravega 0.13.0 in one child process, for tests and for trying things out."""

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from aiopravega.config import PravegaConfig
from aiopravega.emulator.fetch import ensure_jars
from aiopravega.emulator.java import find_java, java_command
from aiopravega.emulator.ports import free_ports
from aiopravega.emulator.probe import probe
from aiopravega.emulator.process import ServerProcess
from aiopravega.emulator.server import PravegaServer
from aiopravega.errors import EmulatorError

_MAIN = "io.pravega.local.LocalPravegaEmulator"
_MEGABYTE = 1 << 20
# Off the heap live the cache and the buffers of connections.
_CONNECTION_MEGABYTES = 512
_START_ATTEMPTS = 3
_POLL_SECONDS = 0.1


class PortTakenError(Exception):
    """Another process took a port between its choice and its use."""


class PravegaEmulator:
    """Pravega standalone: controller, segment store and ZooKeeper in one Java process, data in memory.

    Use it as a context manager, or call `start` and `stop`. The server ends with this process, however that ends.

    Args:
        data: a folder for the second tier of storage and the logs. The newest data and all metadata stay in memory,
            so that nothing can be read after a restart: `DurablePravega` is for that. What an earlier server left in
            the folder's `storage` is removed.
        cache_megabytes: size of the read and write cache. A burst of writes that outruns a small cache ends the server.
        heap_megabytes: size of the Java heap, which holds the second tier too unless `data` is given.
        settings: further settings of the server, such as `{"pravegaservice.container.count": "4"}`.
        timeout: seconds from the start of the process until it must be ready.
    """

    def __init__(
        self,
        *,
        data: str | Path | None = None,
        cache_megabytes: int = 1024,
        heap_megabytes: int = 1024,
        settings: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._data = Path(data).absolute() if data is not None else None
        self._cache_megabytes = cache_megabytes
        self._heap_megabytes = heap_megabytes
        self._settings = dict(settings or {})
        self._timeout = timeout
        self._folder: Path | None = None
        self._process: ServerProcess | None = None
        self._server: PravegaServer | None = None

    def start(self) -> Self:
        """Fetch the jars if needed, start the server and wait until it can be used.

        Raises:
            ChecksumError: a jar is not what it should be.
            EmulatorError: no usable Java, the jars could not be fetched, or the server did not start; the message
                ends with the last lines of its log.
        """
        java, jars = find_java(), ensure_jars()
        self._folder = self._data or Path(tempfile.mkdtemp(prefix="pravega-emulator-"))
        for _ in range(_START_ATTEMPTS):
            try:
                self._launch(java, jars, self._folder)
            except PortTakenError:
                continue
            except BaseException:
                self._stop_process()  # the folder stays: the error names the log in it
                raise
            return self
        raise EmulatorError(f"Pravega found its ports taken {_START_ATTEMPTS} times: {self._folder / 'logs'}")

    def _launch(self, java: str, jars: Path, folder: Path) -> None:
        logs = folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        controller_port, store_port, zookeeper_port = free_ports(3)
        settings = {
            "singlenode.controller.rpc.port": str(controller_port),
            "singlenode.segmentStore.port": str(store_port),
            "singlenode.zk.port": str(zookeeper_port),
            "singlenode.controller.rest.enable": "false",
            "singlenode.admin.gateway.enable": "false",
            "pravegaservice.rest.listener.enable": "false",
            "pravegaservice.cache.size.max": str(self._cache_megabytes * _MEGABYTE),
            "pravegaservice.service.listener.host.nameOrIp": "127.0.0.1",
            "pravegaservice.service.published.host.nameOrIp": "127.0.0.1",
        }
        if self._data:
            storage = self._data / "storage"
            shutil.rmtree(storage, ignore_errors=True)
            settings |= {"pravegaservice.storage.impl.name": "FILESYSTEM", "filesystem.root": str(storage)}
        properties = folder / "pravega.properties"
        write_properties(properties, settings | self._settings)
        command = java_command(
            java,
            jars,
            [_MAIN],
            heap_megabytes=self._heap_megabytes,
            direct_megabytes=self._cache_megabytes + _CONNECTION_MEGABYTES,
            options=(f"-Dsinglenode.configurationFile={properties}",),
        )
        self._process = ServerProcess("Pravega", command, logs / "pravega.log", folder)
        self._process.start()
        server = PravegaServer(f"tcp://127.0.0.1:{controller_port}", logs)
        self._await_ready(self._process, server.config)
        self._server = server

    def _await_ready(self, process: ServerProcess, config: PravegaConfig) -> None:
        deadline = time.monotonic() + self._timeout
        while (problem := probe(config)) is not None:
            if process.lost_a_port():
                process.kill()
                raise PortTakenError
            if not process.running:
                raise process.failure("ended while it started")
            if time.monotonic() > deadline:
                raise process.failure(f"was not ready after {self._timeout:.0f} s (it answered: {problem})")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the server and remove its files, except those in the `data` folder. Safe to call again."""
        self._stop_process()
        self._server = None
        if self._folder and not self._data:
            shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End the server as `kill -9` does. Its data are lost; its logs stay until `stop`."""
        if self._process:
            self._process.kill()

    def _stop_process(self) -> None:
        if self._process:
            self._process.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def server(self) -> PravegaServer:
        """Addresses, accounts and files of the running server.

        Raises:
            EmulatorError: the emulator has not been started.
        """
        if self._server is None:
            raise EmulatorError("the emulator does not run: use it in a with statement, or call start() first")
        return self._server

    @property
    def controller_uri(self) -> str:
        """`tcp://host:port` or `tls://host:port` of the controller."""
        return self.server.controller_uri

    @property
    def schema_registry_uri(self) -> str | None:
        """`http://host:port` of the Schema Registry, if it was asked for."""
        return self.server.schema_registry_uri

    @property
    def logs(self) -> Path:
        """The folder of the log files."""
        return self.server.logs

    @property
    def config(self) -> PravegaConfig:
        """The configuration of a client that may do everything."""
        return self.server.config

    def config_for(self, username: str) -> PravegaConfig:
        """The configuration of a client that uses this account."""
        return self.server.config_for(username)

    def environment(self) -> dict[str, str]:
        """The environment variables from which `PravegaConfig()` reaches this server."""
        return self.server.environment()


def write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """Write a Java properties file that only the user can read: it may hold passwords."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
