"""Fields and extras of Airflow connections of all types, and errors that name the connection."""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from aiopravega.errors import ConfigurationError


class ConnectionLike(Protocol):
    """The fields of a connection that are read; the Task SDK and Airflow's database each have a class with them."""

    conn_id: str
    conn_type: str | None
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    schema: str | None
    extra: str | None


@contextmanager
def errors_named(connection: ConnectionLike) -> Iterator[None]:
    """Run a block; its errors get the id of the connection.

    Raises:
        ConfigurationError: the error of the block, with the connection's id.
    """
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"connection {connection.conn_id!r}: {error}") from None


def set_extras(connection: ConnectionLike, known: Collection[str], advice: str = "") -> dict[str, Any]:
    """The extras that have a value.

    Args:
        connection: the connection that has the extras.
        known: the names that are allowed.
        advice: the end of the message about another name.

    Raises:
        ConfigurationError: they are not a JSON object, or one is not known.
    """
    given = extras_of(connection)
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise ConfigurationError(f"its extras {unknown} are not known: there are {sorted(known)}{advice}")
    return given


def extras_of(connection: ConnectionLike) -> dict[str, Any]:
    """The extras that have a value, of any names.

    Raises:
        ConfigurationError: they are not a JSON object.
    """
    try:
        extras: Any = json.loads(connection.extra or "{}")
    except json.JSONDecodeError:
        extras = None
    if not isinstance(extras, dict):
        raise ConfigurationError("the extras are not a JSON object")
    return {name: value for name, value in extras.items() if value not in (None, "")}
