"""An Airflow connection of the type `postgres` as the settings of libpq. It looks nothing up and opens nothing."""

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
# How rows come back to a hook of Airflow's.
_WITHOUT_MEANING: Final = ("cursor",)


def libpq_dsn(connection: ConnectionLike) -> str:
    """The settings as one text, `host='…' dbname='…'`, with the password if there is one: not for people.

    Raises:
        ConfigurationError: a server cannot be reached by it; the message names the connection and the field.
    """
    with errors_named(connection):
        settings = _settings(connection)
    return " ".join(f"{name}={_quoted(value)}" for name, value in settings.items())


def _settings(connection: ConnectionLike) -> dict[str, str]:
    if connection.conn_type not in _TYPES:
        raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {_TYPES[0]!r}")
    if not connection.host:
        raise ConfigurationError("it has no host: executors would each take the one of their own environment")
    if not connection.schema:
        raise ConfigurationError("it has no database (Airflow's field is `schema`): name the one that has the table")
    extras = set_extras(connection, (*_SETTINGS, *_WITHOUT_MEANING))
    found = {
        "host": connection.host,
        "port": connection.port,
        "dbname": connection.schema,
        "user": connection.login,
        "password": connection.password,
        **{name: value for name, value in extras.items() if name in _SETTINGS and value is not False},
    }
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
