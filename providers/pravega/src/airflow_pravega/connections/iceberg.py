"""An Airflow connection of the type `iceberg` as the properties of a catalog. Nothing is opened, and no id is read.

Type and fields mean what Airflow's provider for Iceberg says, which need not be installed.
"""

from typing import Any, Final

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.fields import ConnectionLike, errors_named, extras_of

TYPE: Final = "iceberg"
_REST: Final = "rest"


def catalog_properties(connection: ConnectionLike) -> dict[str, Any]:
    """The properties of the catalog for pyiceberg. They have the secret if there is one: they must not be shown.

    Raises:
        ConfigurationError: the connection cannot work; the message names the connection and the field.
    """
    with errors_named(connection):
        return _properties(connection)


def _properties(connection: ConnectionLike) -> dict[str, Any]:
    if connection.conn_type != TYPE:
        raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {TYPE!r}")
    for name, value in (("port", connection.port), ("schema", connection.schema)):
        if value:
            raise ConfigurationError(
                f"it has a {name}, which is not used: name the port in the host, or give the extra warehouse"
            )
    found = {"type": _REST, **extras_of(connection)}
    if connection.host:
        found["uri"] = connection.host.rstrip("/")
    if found["type"] != _REST:
        return found
    if "uri" not in found:
        raise ConfigurationError("it has no host: the address of the catalog, such as https://catalog.example.com")
    if bool(connection.login) != bool(connection.password):
        raise ConfigurationError("it has a login or a password, but a catalog needs both: the client's id and secret")
    if connection.login:
        found["credential"] = f"{connection.login}:{connection.password}"
    return found
