"""The resource that files of components make by `connection`: one for all that say the same.

Dagster refuses a project in which two files make resources of one key, unless both are the same object.
"""

from collections.abc import Mapping
from typing import Any

from dagster_pravega.resource import PravegaResource

_made: list[tuple[list[tuple[str, type, Any]], PravegaResource]] = []


def resource_of(connection: Mapping[str, Any]) -> PravegaResource:
    """The resource with these fields of `PravegaResource`: the one that this process has made, or a new one.

    Raises:
        pydantic.ValidationError: a field is not known, or has a value of another type.
    """
    # An `EnvVar` is equal to the text of its name.
    wanted = sorted((name, type(value), value) for name, value in connection.items())
    for fields, resource in _made:
        if fields == wanted:
            return resource
    made = PravegaResource(**connection)
    _made.append((wanted, made))
    return made
