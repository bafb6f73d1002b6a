"""A real Pravega 0.13.0 in one child process, for tests and for trying things out."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from aiopravega.errors import EmulatorError
from pravega_emulator.lifecycle import Emulator, Workplace
from pravega_emulator.probe import pravega_problem
from pravega_emulator.registry import registry_problem, registry_process, registry_uri
from pravega_emulator.security import Security
from pravega_emulator.server import Account, PravegaServer

_MAIN = "io.pravega.local.LocalPravegaEmulator"
_MEGABYTE = 1 << 20
# The write-ahead log is on the heap and is cut off at checkpoints only: by the server's defaults (256 MB for each of
# four containers) a gigabyte of writes fills the heap, which ends the server.
_CHECKPOINT_BYTES = 96 * _MEGABYTE
# A checkpoint holds what is known of all active segments, and counts as a write itself, in pieces of a megabyte. With
# fewer commits between two, one that is larger than the limit is followed by the next at once, until the heap is full.
_CHECKPOINT_COMMITS = 100
# The log can be cut off only up to the oldest write that is not in the second tier yet, of any segment: a small segment
# that waits 30 s, the server's default, keeps 30 s of everybody's writes on the heap and in the cache.
_FLUSH_MILLISECONDS = 1000
_FLUSH_BYTES = 16 * _MEGABYTE
# Every write to the second tier, every checkpoint and every cleaning of the cache goes through all segments that the
# server knows; it forgets those that nobody has used for this long. This is its lowest; its default is 300.
_FORGET_SECONDS = 60
# The default collector, G1, gives every block of a megabyte a region of its own, and runs out of them.
_COLLECTOR = "-XX:+UseParallelGC"
# Off the heap live the cache and the buffers of connections.
_CONNECTION_MEGABYTES = 512


class PravegaEmulator(Emulator):
    """Pravega standalone: controller, segment store and ZooKeeper in one Java process.

    Use it as a context manager, or call `start` and `stop`. The server ends with this process, however that ends. Its
    controller can be reached from other machines (Pravega has no setting for that): ask for `auth` where it matters.

    Args:
        schema_registry: also start the Schema Registry.
        tls: encrypt every connection, with certificates made for this server; `config` knows them.
        auth: ask for credentials; `config` has the credentials of the account `admin`,
            which may do everything.
        accounts: further accounts, or one named `admin` to choose its password; `config_for` knows them.
        data: a folder for the second tier of storage and the logs; by default a temporary one, removed at the end.
            The newest data and all metadata stay in memory, so nothing can be read after a restart: `DurablePravega`
            is for that. What an earlier server left in the folder's `storage` is removed.
        cache_megabytes: size of the read and write cache. A burst of writes that outruns a small cache ends the server.
        heap_megabytes: size of the Java heap, which holds the newest writes until they are in the second tier.
        port: port of the controller; any free one by default.
        full_jit: let Java compile hot code thoroughly. For benchmarks: a start takes twice the processor's time.
        settings: further settings of the server, such as `{"controller.transaction.lease.count.max": "60000"}`.
        timeout: seconds that the servers may take to be ready.
    """

    _keeps_data = False

    def __init__(
        self,
        *,
        schema_registry: bool = False,
        tls: bool = False,
        auth: bool = False,
        accounts: Sequence[Account] = (),
        data: str | Path | None = None,
        cache_megabytes: int = 1024,
        heap_megabytes: int = 3072,
        port: int | None = None,
        full_jit: bool = False,
        settings: Mapping[str, str] | None = None,
        timeout: float = 300.0,
    ) -> None:
        super().__init__(data, timeout)
        self._schema_registry = schema_registry
        self._tls, self._auth, self._accounts = tls, auth, tuple(accounts)
        self._cache_megabytes, self._heap_megabytes = cache_megabytes, heap_megabytes
        self._port = port
        self._full_jit = full_jit
        self._settings = dict(settings or {})

    def _launch(self, workplace: Workplace) -> PravegaServer:
        security = Security.make(workplace.folder / "security", tls=self._tls, auth=self._auth, accounts=self._accounts)
        if self._port is not None and not self._ports.claim(self._port):
            raise EmulatorError(f"another program listens on port {self._port}: end it, or choose another port")
        store_port, zookeeper_port, registry_port, any_port = self._ports.take(4)
        controller_port = self._port or any_port
        settings = {
            "singlenode.controller.rpc.port": str(controller_port),
            "singlenode.segmentStore.port": str(store_port),
            "singlenode.zk.port": str(zookeeper_port),
            "singlenode.controller.rest.enable": "false",
            "singlenode.admin.gateway.enable": "false",
            "pravegaservice.rest.listener.enable": "false",
            "durablelog.checkpoint.commit.length.total": str(_CHECKPOINT_BYTES),
            "durablelog.checkpoint.commit.count.min": str(_CHECKPOINT_COMMITS),
            "writer.flush.threshold.milliseconds": str(_FLUSH_MILLISECONDS),
            "writer.flush.size.bytes.max": str(_FLUSH_BYTES),
            "containers.segment.metadata.expiry.seconds": str(_FORGET_SECONDS),
            "pravegaservice.cache.size.max": str(self._cache_megabytes * _MEGABYTE),
            "pravegaservice.service.listener.host.nameOrIp": "127.0.0.1",
            "pravegaservice.service.published.host.nameOrIp": security.host,
        }
        settings |= _storage_settings(workplace.folder / "storage") | security.standalone_settings() | self._settings
        file = workplace.write_settings("pravega.properties", settings)
        pravega = self._run(
            workplace.process(
                "pravega",
                [_MAIN],
                heap_megabytes=self._heap_megabytes,
                direct_megabytes=self._cache_megabytes + _CONNECTION_MEGABYTES,
                full_jit=self._full_jit,
                options=[_COLLECTOR, f"-Dsinglenode.configurationFile={file}", *_for_controller(self._settings)],
            )
        )
        server = PravegaServer(
            security.controller_uri(controller_port),
            workplace.logs,
            registry_uri(security, registry_port) if self._schema_registry else None,
            security.ca_file,
            security.accounts,
        )
        self._await_ready(pravega, lambda: pravega_problem(server.config))
        if uri := server.schema_registry_uri:
            registry = self._run(registry_process(workplace, security, server.controller_uri, registry_port))
            self._await_ready(registry, lambda: registry_problem(uri, security))
        return server


def _for_controller(settings: Mapping[str, str]) -> list[str]:
    """The embedded controller takes its own settings (`Config`) from system properties of Java, not from the file."""
    return [f"-D{key}={value}" for key, value in settings.items() if key.startswith("controller.")]


def _storage_settings(storage: Path) -> dict[str, str]:
    """The second tier in files: the one in memory fills the Java heap within a gigabyte of writes, and is slow."""
    shutil.rmtree(storage, ignore_errors=True)
    return {"pravegaservice.storage.impl.name": "FILESYSTEM", "filesystem.root": str(storage)}
