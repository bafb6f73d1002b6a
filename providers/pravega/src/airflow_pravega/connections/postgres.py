"""An Airflow connection of the type `postgres` as the settings of libpq. This module opens nothing and reads no id."""

from typing import Final

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.fields import ConnectionLike, errors_named, set_extras

_TYPES: Final = ("postgres", "postgresql")
# Extras that are settings of libpq under the same name.
_SETTINGS: Final = (
    "application_name",
    "channel_binding",
    "connect_timeout",
    "gssencmode",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "passfile",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
)
# It sets the type of the rows for a hook of Airflow; a driver of Spark has no use for it.
_WITHOUT_MEANING: Final = ("cursor",)


def libpq_dsn(connection: ConnectionLike) -> str:
    """The settings as one text, `host='…' dbname='…'`. It has the password if there is one: it must not be shown.

    Raises:
        ConfigurationError: the connection cannot work; the message names the connection and the field.
    """
    with errors_named(connection):
        settings = _settings(connection)
    return " ".join(f"{name}={_quoted(value)}" for name, value in settings.items())


def _settings(connection: ConnectionLike) -> dict[str, str]:
    if connection.conn_type not in _TYPES:
        raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {_TYPES[0]!r}")
    if not connection.host:
        raise ConfigurationError("it has no host: each executor would take a host from its own environment")
    if not connection.schema:
        raise ConfigurationError("it has no database (Airflow's field is `schema`): name the one that has the table")
    extras = set_extras(connection, (*_SETTINGS, *_WITHOUT_MEANING))
    settings = {
        "host": connection.host,
        "port": connection.port,
        "dbname": connection.schema,
        "user": connection.login,
        "password": connection.password,
        **{name: value for name, value in extras.items() if name in _SETTINGS and value is not False},
    }
    return {name: str(value) for name, value in settings.items() if value not in (None, "")}


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
