"""An Airflow connection of the type `postgres` as the settings of libpq. It looks nothing up and opens nothing."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from aiopravega.errors import ConfigurationError

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


class PostgresConnectionLike(Protocol):
    """What is read of a connection."""

    conn_id: str
    conn_type: str | None
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    schema: str | None
    extra: str | None


def libpq_dsn(connection: PostgresConnectionLike) -> str:
    """The settings as one text, `host='…' dbname='…'`, with the password if there is one: not for people.

    Raises:
        ConfigurationError: a server cannot be reached by it; the message names the connection and the field.
    """
    try:
        settings = _settings(connection)
    except ConfigurationError as error:
        raise ConfigurationError(f"connection {connection.conn_id!r}: {error}") from None
    return " ".join(f"{name}={_quoted(value)}" for name, value in settings.items())


def _settings(connection: PostgresConnectionLike) -> dict[str, str]:
    if connection.conn_type not in _TYPES:
        raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {_TYPES[0]!r}")
    if not connection.host:
        raise ConfigurationError("it has no host: executors would each take the one of their own environment")
    if not connection.schema:
        raise ConfigurationError("it has no database (Airflow's field is `schema`): name the one that has the table")
    found = {
        "host": connection.host,
        "port": connection.port,
        "dbname": connection.schema,
        "user": connection.login,
        "password": connection.password,
        **_extras(connection.extra),
    }
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _extras(text: str | None) -> Mapping[str, Any]:
    try:
        extras: Any = json.loads(text or "{}")
    except json.JSONDecodeError:
        extras = None
    if not isinstance(extras, dict):
        raise ConfigurationError("the extras are not a JSON object")
    given = {name: value for name, value in extras.items() if value not in (None, "", False)}
    unknown = sorted(given.keys() - {*_SETTINGS, *_WITHOUT_MEANING})
    if unknown:
        raise ConfigurationError(f"its extras {unknown} are not known here: there are {list(_SETTINGS)}")
    return {name: value for name, value in given.items() if name in _SETTINGS}


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
