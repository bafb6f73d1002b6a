"""The configuration files of ZooKeeper, BookKeeper, segment store and controller, for one of each on this machine.

Sources: the reference pages of ZooKeeper and BookKeeper; in Pravega `ServiceConfig`, `BookKeeperConfig`,
`AutoScalerConfig` and the controller's `Config`.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from pravega_emulator.security import Security

_CONTAINERS = "4"
_MEGABYTE = 1 << 20
_LOOPBACK = "127.0.0.1"
# How soon a killed segment store's containers are free for its successor.
_ZOOKEEPER_SESSION_MILLISECONDS = "4000"
# How soon ZooKeeper forgets a killed bookie; until then another one cannot start.
_BOOKIE_SESSION_MILLISECONDS = "5000"

Settings = dict[str, str]


@dataclass(frozen=True, slots=True)
class Ports:
    """One port per listener. A bookie is known to its data by its port, so they stay with a data folder."""

    zookeeper: int
    bookie: int
    segmentstore: int
    controller: int
    controller_rest: int
    schema_registry: int

    def all(self) -> list[int]:
        """Every port."""
        return list(asdict(self).values())


def zookeeper_settings(ports: Ports, folder: Path) -> Settings:
    """The content of `zoo.cfg`."""
    return {
        "tickTime": "2000",
        "dataDir": str(folder / "zookeeper"),
        "clientPort": str(ports.zookeeper),
        "clientPortAddress": _LOOPBACK,
        "4lw.commands.whitelist": "*",
    }


def bookie_settings(ports: Ports, folder: Path) -> Settings:
    """The content of `bk_server.conf`."""
    return {
        "bookiePort": str(ports.bookie),
        "advertisedAddress": _LOOPBACK,
        "allowLoopback": "true",
        "zkTimeout": _BOOKIE_SESSION_MILLISECONDS,
        "metadataServiceUri": f"zk://{_LOOPBACK}:{ports.zookeeper}/ledgers",
        "journalDirectories": str(folder / "bookie" / "journal"),
        "ledgerDirectories": str(folder / "bookie" / "ledgers"),
        "httpServerEnabled": "false",
        "enableStatistics": "false",
        "diskUsageThreshold": "0.99",
        "diskUsageWarnThreshold": "0.98",
    }


def segment_store_settings(
    ports: Ports, folder: Path, security: Security, signing_key: str, cache_megabytes: int
) -> Settings:
    """The segment store's properties."""
    zookeeper = f"{_LOOPBACK}:{ports.zookeeper}"
    settings = {
        "pravegaservice.container.count": _CONTAINERS,
        "pravegaservice.service.listener.host.nameOrIp": _LOOPBACK,
        "pravegaservice.service.listener.port": str(ports.segmentstore),
        "pravegaservice.service.published.host.nameOrIp": security.host,
        "pravegaservice.service.published.port": str(ports.segmentstore),
        "pravegaservice.rest.listener.enable": "false",
        "pravegaservice.admin.gateway.enable": "false",
        "pravegaservice.zk.connect.uri": zookeeper,
        "pravegaservice.zk.connect.sessionTimeout.milliseconds": _ZOOKEEPER_SESSION_MILLISECONDS,
        "pravegaservice.dataLog.impl.name": "BOOKKEEPER",
        "pravegaservice.storage.impl.name": "FILESYSTEM",
        "pravegaservice.cache.size.max": str(cache_megabytes * _MEGABYTE),
        "filesystem.root": str(folder / "storage"),
        "bookkeeper.zk.connect.uri": zookeeper,
        "bookkeeper.ledger.path": "/ledgers",
        "bookkeeper.ensemble.size": "1",
        "bookkeeper.write.quorum.size": "1",
        "bookkeeper.ack.quorum.size": "1",
        "autoScale.controller.connect.uri": security.controller_uri(ports.controller),
    }
    if files := security.certificates:
        settings |= {
            "pravegaservice.security.tls.enable": "true",
            "pravegaservice.security.tls.server.certificate.location": str(files.chain),
            "pravegaservice.security.tls.server.privateKey.location": str(files.key),
            "pravegaservice.security.tls.server.keyStore.location": str(files.key_store),
            "pravegaservice.security.tls.server.keyStore.pwd.location": str(files.password_file),
            "autoScale.controller.connect.security.tls.enable": "true",
            "autoScale.controller.connect.security.tls.truststore.location": str(files.ca),
        }
    if security.accounts:
        settings |= {
            "autoScale.controller.connect.security.auth.enable": "true",
            "autoScale.security.auth.token.signingKey.basis": signing_key,
        }
    return settings


def controller_settings(ports: Ports, security: Security, signing_key: str, token_seconds: int) -> Settings:
    """The controller's properties."""
    settings = {
        "controller.zk.connect.uri": f"{_LOOPBACK}:{ports.zookeeper}",
        "controller.zk.connect.session.timeout.milliseconds": _ZOOKEEPER_SESSION_MILLISECONDS,
        "controller.container.count": _CONTAINERS,
        "controller.rebalance.interval.seconds.min": "1",
        "controller.service.rpc.listener.port": str(ports.controller),
        "controller.service.rpc.published.host.nameOrIp": security.host,
        "controller.service.rpc.published.port": str(ports.controller),
        "controller.service.rest.listener.host.ip": _LOOPBACK,
        "controller.service.rest.listener.port": str(ports.controller_rest),
    }
    if files := security.certificates:
        settings |= {
            "controller.security.tls.enable": "true",
            "controller.security.tls.server.certificate.location": str(files.chain),
            "controller.security.tls.server.privateKey.location": str(files.key),
            "controller.security.tls.trustStore.location": str(files.ca),
            "controller.security.tls.server.keyStore.location": str(files.key_store),
            "controller.security.tls.server.keyStore.pwd.location": str(files.password_file),
            # controller.segmentstore.connect.channel.tls is not set: with any value, the controller's own client, which
            # makes watermarks, calls the controller without TLS.
        }
    if security.accounts:
        settings |= {
            "controller.security.auth.enable": "true",
            "controller.security.pwdAuthHandler.accountsDb.location": str(security.accounts_file),
            "controller.security.auth.delegationToken.signingKey.basis": signing_key,
            "controller.security.auth.delegationToken.ttl.seconds": str(token_seconds),
        }
    return settings
