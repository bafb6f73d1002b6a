"""An Airflow connection of the type `pravega` as a `PravegaConfig`. It looks nothing up and opens nothing.

Everything comes from the connection, and nothing from `PRAVEGA_…` variables of the process that happens to run it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.schema import RegistryConfig
from aiopravega.sizes import LARGEST_EVENT

DEFAULT_PORT: Final = 9090
SPARK_MASTER: Final = "spark_master"
SCHEMA_REGISTRY: Final = "schema_registry_uri"
_TLS: Final = "tls"
_LIMITS: Final = ("connect_timeout", "request_timeout", "retry_timeout")
# Extras that are fields of PravegaConfig under the same name.
_CONFIG_EXTRAS: Final = ("ca_file", "verify_hostname", "token", "scope", "max_event_bytes", *_LIMITS)
_EXTRAS: Final = (*_CONFIG_EXTRAS, _TLS, SPARK_MASTER, SCHEMA_REGISTRY)
_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False}


class ConnectionLike(Protocol):
    """What is read of a connection; Airflow's Task SDK and its metadata database have classes of their own for it."""

    conn_id: str
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    extra: str | None


def config_from_connection(connection: ConnectionLike) -> PravegaConfig:
    """Build the configuration of a client.

    Raises:
        ConfigurationError: the connection cannot work; the message names it and the field.
    """
    try:
        return _config(connection)
    except ConfigurationError as error:
        raise ConfigurationError(f"connection {connection.conn_id!r}: {error}") from None


def registry_from_connection(connection: ConnectionLike) -> RegistryConfig:
    """Build the configuration of a client of the Schema Registry: its address, with the cluster's credentials.

    Limits of time that the connection gives are for both; a registry has shorter ones by default.

    Raises:
        ConfigurationError: the connection has no address of a registry, or cannot work.
    """
    config = config_from_connection(connection)
    extras = connection_extras(connection)
    uri = extras.get(SCHEMA_REGISTRY)
    if uri is None:
        raise ConfigurationError(
            f"connection {connection.conn_id!r} has no extra {SCHEMA_REGISTRY!r}: give the Schema Registry's address"
        )
    try:
        beside = RegistryConfig.beside(config, uri)
    except ConfigurationError as error:
        raise ConfigurationError(f"connection {connection.conn_id!r}: {error}") from None
    return beside.model_copy(update={name: getattr(config, name) for name in _LIMITS if name in extras})


def connection_extras(connection: ConnectionLike) -> dict[str, Any]:
    """The extras that are set.

    Raises:
        ConfigurationError: they are not JSON, or one is unknown.
    """
    try:
        extras = json.loads(connection.extra or "{}")
    except json.JSONDecodeError:
        extras = None
    if not isinstance(extras, dict):
        raise ConfigurationError("the extras are not a JSON object")
    unknown = extras.keys() - set(_EXTRAS)
    if unknown:
        raise ConfigurationError(f"unknown extras {sorted(unknown)}; there are {sorted(_EXTRAS)}")
    return {name: value for name, value in extras.items() if value not in (None, "")}


def _config(connection: ConnectionLike) -> PravegaConfig:
    extras = connection_extras(connection)
    # Said even where it is the default: what is left out, PravegaConfig takes from the environment.
    values: dict[str, Any] = {"scope": None, "ca_file": None, "token": None, "verify_hostname": True}
    values["max_event_bytes"] = LARGEST_EVENT
    values |= {name: extras[name] for name in _CONFIG_EXTRAS if name in extras}
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
    flag = str(extras.get(_TLS, "false")).lower()  # a connection that is written as a URI has its extras as texts
    if flag not in _FLAGS:
        raise ConfigurationError(f"tls is {flag!r}, but must be true or false")
    if "://" not in host:
        host = f"{'tls' if _FLAGS[flag] else 'tcp'}://{host}"
    return f"{host}:{connection.port or DEFAULT_PORT}"
