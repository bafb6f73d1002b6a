"""An Airflow connection of Spark's provider as a master and settings of a session. This module reads no id.

Credentials are refused: PySpark hands settings to its JVM on the command line, where all users of the machine see them.
"""

from collections.abc import Mapping
from typing import Final

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.fields import ConnectionLike, errors_named, set_extras

_TYPES: Final = ("spark", "spark_connect")
# Extras of Spark's provider, and the settings that they stand for.
_SETTINGS: Final[Mapping[str, str]] = {
    "queue": "spark.yarn.queue",
    "namespace": "spark.kubernetes.namespace",
    "principal": "spark.kerberos.principal",
    "keytab": "spark.kerberos.keytab",
}
_DEPLOY_MODE: Final = "deploy-mode"
_CLIENT: Final = "client"
# The program that submits. It has no effect: the driver of these operators runs in the task.
_BINARY: Final = "spark-binary"
_KNOWN: Final = (*_SETTINGS, _DEPLOY_MODE, _BINARY)
# Masters that have no host and port.
_WORDS: Final = ("local", "yarn")


def session_settings(connection: ConnectionLike) -> tuple[str, dict[str, str]]:
    """The master, and the settings that the extras stand for.

    Raises:
        ConfigurationError: a session cannot be made with it; the message names the connection and the field.
    """
    with errors_named(connection):
        return _master(connection), _settings(connection)


def _master(connection: ConnectionLike) -> str:
    if connection.conn_type not in _TYPES:
        raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be one of {', '.join(_TYPES)}")
    if connection.login or connection.password:
        raise ConfigurationError(
            "it has a login or a password, which a session cannot take without showing it: make a connection without, "
            "and give credentials to Spark by its own files, such as spark-defaults.conf"
        )
    host = connection.host
    if not host:
        raise ConfigurationError("it has no host: give the master, such as spark://host, yarn or local[2]")
    if "@" in host or ";" in host:
        raise ConfigurationError("the host has a user or parameters, which may be secret: give the address only")
    if "://" not in host and not host.startswith(_WORDS):
        host = f"{'sc' if connection.conn_type == 'spark_connect' else 'spark'}://{host}"
    return f"{host}:{connection.port}" if connection.port else host


def _settings(connection: ConnectionLike) -> dict[str, str]:
    given = set_extras(connection, _KNOWN, "; give spark_conf")
    if given.get(_DEPLOY_MODE, _CLIENT) != _CLIENT:
        raise ConfigurationError(
            f"{_DEPLOY_MODE} is {given[_DEPLOY_MODE]!r}, but the driver runs in the task: say {_CLIENT!r}"
        )
    return {setting: str(given[name]) for name, setting in _SETTINGS.items() if name in given}
