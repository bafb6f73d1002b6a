"""Parts that components share: their resources, by `connection` and `spark`, and the examples of `dg scaffold defs`.

Files with equal values of `connection` and `spark` share one object.

Dagster refuses a project in which two files make resources of one key, unless both are the same object.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component

from dagster_pravega.io.io_manager import PravegaSparkIOManager
from dagster_pravega.resources.resource import PravegaResource

R = TypeVar("R", PravegaResource, PravegaSparkIOManager)
_resources: list[tuple[list[tuple[str, type, Any]], PravegaResource]] = []
_managers: list[tuple[list[tuple[str, type, Any]], PravegaSparkIOManager]] = []


def resource_of(connection: Mapping[str, Any]) -> PravegaResource:
    """The resource with these fields of `PravegaResource`; this process makes it once.

    Raises:
        pydantic.ValidationError: a field is not known, or has a value of another type.
    """
    return _made(_resources, connection, lambda: PravegaResource(**connection))


def spark_of(connection: Mapping[str, Any], spark: Mapping[str, Any]) -> PravegaSparkIOManager:
    """The IO manager of this connection, with these fields of `PravegaSparkIOManager`; this process makes it once.

    Raises:
        pydantic.ValidationError: a field is not known, or has a value of another type.
    """
    pravega = resource_of(connection)
    wanted = {**spark, "pravega": id(pravega)}
    return _made(_managers, wanted, lambda: PravegaSparkIOManager(pravega=pravega, **spark))


def _made(known: list[tuple[list[tuple[str, type, Any]], R]], given: Mapping[str, Any], make: Callable[[], R]) -> R:
    # An `EnvVar` is equal to the text of its name.
    wanted = sorted((name, type(value), value) for name, value in given.items())
    for fields, resource in known:
        if fields == wanted:
            return resource
    made = make()
    known.append((wanted, made))
    return made


def scaffolder(attributes: Mapping[str, Any]) -> type[dg.Scaffolder]:
    """A class that writes a file with these attributes, and a connection, as an example of a component."""

    class Example(dg.Scaffolder):
        """The example that `dg scaffold defs` writes."""

        def scaffold(self, request: dg.ScaffoldRequest) -> None:
            """Write the file."""
            scaffold_component(request, {**attributes, "connection": {}})

    return Example
