"""An Airflow connection of the type `pravega` as a `PravegaConfig`. This module opens no connection and reads no id.

All values come from the Airflow connection, and none from `PRAVEGA_…` variables of the process that runs the task.
"""

from collections.abc import Mapping
from typing import Any, Final

from airflow.providers.common.compat.sdk import conf

from aiopravega.addresses import parse_addresses
from aiopravega.config import PravegaConfig
from aiopravega.credentials import TOKEN_PROGRAMS
from aiopravega.errors import ConfigurationError
from aiopravega.schema import RegistryConfig
from aiopravega.sizes import LARGEST_EVENT
from airflow_pravega.connections.fields import ConnectionLike, errors_named, set_extras

DEFAULT_PORT: Final = 9090
_HINT: Final = "give the controller's host, or several with commas between them, and the port"
SPARK_MASTER: Final = "spark_master"
SCHEMA_REGISTRY: Final = "schema_registry_uri"
_TLS: Final = "tls"
_LIMITS: Final = ("connect_timeout", "request_timeout", "retry_timeout")
# Extras that are fields of PravegaConfig under the same name.
_CONFIG_EXTRAS: Final = ("ca_file", "verify_hostname", "token", "token_source", "scope", "max_event_bytes", *_LIMITS)
_EXTRAS: Final = (*_CONFIG_EXTRAS, _TLS, SPARK_MASTER, SCHEMA_REGISTRY)
_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False}


def config_from_connection(connection: ConnectionLike) -> PravegaConfig:
    """Build the configuration of a client.

    Raises:
        ConfigurationError: the connection cannot work; the message names the connection and the field.
    """
    with errors_named(connection):
        return _config(connection)


def registry_from_connection(connection: ConnectionLike) -> RegistryConfig:
    """Build the configuration of a client of the Schema Registry: its address, with the cluster's credentials.

    The connection's time limits are for cluster and registry; the registry has shorter ones by default.

    Raises:
        ConfigurationError: the connection has no address of a registry, or cannot work.
    """
    config = config_from_connection(connection)
    extras = connection_extras(connection)
    with errors_named(connection):
        uri = extras.get(SCHEMA_REGISTRY)
        if uri is None:
            raise ConfigurationError(f"it has no extra {SCHEMA_REGISTRY!r}: give the Schema Registry's address")
        beside = RegistryConfig.beside(config, uri)
    return beside.model_copy(update={name: getattr(config, name) for name in _LIMITS if name in extras})


def connection_extras(connection: ConnectionLike) -> dict[str, Any]:
    """The extras that are set.

    Raises:
        ConfigurationError: the extras are not JSON, or one is unknown.
    """
    return set_extras(connection, _EXTRAS)


def _config(connection: ConnectionLike) -> PravegaConfig:
    extras = connection_extras(connection)
    # Defaults are given here: PravegaConfig would take a value that is left out from the environment.
    values: dict[str, Any] = {
        "scope": None,
        "ca_file": None,
        "token": None,
        "token_source": None,
        "verify_hostname": True,
    }
    values["max_event_bytes"] = LARGEST_EVENT
    values |= {name: extras[name] for name in _CONFIG_EXTRAS if name in extras}
    kind = str(values["token_source"]).partition(":")[0].strip()
    if kind in TOKEN_PROGRAMS and not conf.getboolean("pravega", "token_programs", fallback=False):
        raise ConfigurationError(
            f"its token_source is a {kind}, which this Airflow does not run for a connection: give file:, keycloak: or "
            "oauth2:, or set [pravega] token_programs, if who may edit connections may run programs on all workers"
        )
    return PravegaConfig(
        controller_uri=_controller_uri(connection, extras),
        username=connection.login or None,
        password=connection.password or None,
        **values,
    )


def _controller_uri(connection: ConnectionLike, extras: Mapping[str, Any]) -> str:
    host = connection.host
    if not host:
        raise ConfigurationError("it has no host: give the controller's")
    flag = str(extras.get(_TLS, "false")).lower()  # the extras of a connection that is written as a URI are texts
    if flag not in _FLAGS:
        raise ConfigurationError(f"tls is {flag!r}, but must be true or false")
    scheme, colon, servers = host.strip().rpartition("://")
    addresses = parse_addresses(servers, _HINT, connection.port or DEFAULT_PORT)
    others = [str(each) for each in addresses if connection.port and each.port != connection.port]
    if others:
        raise ConfigurationError(f"its host {others[0]!r} has another port than the connection, {connection.port}")
    return f"{scheme if colon else 'tls' if _FLAGS[flag] else 'tcp'}://{','.join(map(str, addresses))}"
