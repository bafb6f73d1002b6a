"""Write the tables of docs/reference that say what the code says; with --check, fail when one is stale.

A page holds its prose itself, and its table between two markers.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from tools.airflow_reference import airflow
from tools.client_reference import client
from tools.command_reference import commands
from tools.spark_reference import spark

import dagster_pravega
from aiopravega.config import PravegaConfig
from aiopravega.credentials import ServerConfig
from aiopravega.errors import PravegaError
from aiopravega.schema import RegistryConfig, SchemaRegistry
from dagster_pravega.components import cdc_component, component, scope_component

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
BEGIN, END = "<!-- written by make docs -->\n", "<!-- end -->\n"


def summary(documented: object) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def error_rows(error: type[PravegaError], depth: int = 0) -> Iterator[str]:
    """An error and those that derive from it, as a tree."""
    yield f"| {'· ' * depth}`{error.__name__}` | {'yes' if error.retryable else 'no'} | {summary(error)} |"
    for derived in error.__subclasses__():
        yield from error_rows(derived, depth + 1)


def errors() -> Iterator[str]:
    """The error tree."""
    yield from ("| error | retryable | when |", "|---|---|---|", *error_rows(PravegaError))


def fields(config: type[BaseModel]) -> Iterator[str]:
    """The fields of a configuration, its own before those that all have."""
    shared = ServerConfig.model_fields.keys()
    for name, field in sorted(config.model_fields.items(), key=lambda item: item[0] in shared):
        if not field.description:
            continue
        default = "" if field.default in (None, PydanticUndefined) else f"`{field.default}`"
        yield f"| `{name}` | {default} | {field.description} |"


def configuration() -> Iterator[str]:
    """The fields of the configuration."""
    yield from ("| field | default | meaning |", "|---|---|---|")
    yield from fields(PravegaConfig)


def registry() -> Iterator[str]:
    """The fields of the registry's configuration, and the calls of its client."""
    yield from ("| field | default | meaning |", "|---|---|---|")
    yield from fields(RegistryConfig)
    yield from ("", "| call | what it does |", "|---|---|")
    for name, call in inspect.getmembers(SchemaRegistry, inspect.isfunction):
        if not name.startswith("_"):
            given = [word for word in inspect.signature(call).parameters if word not in {"self", "namespace"}]
            yield f"| `{name}({', '.join(given)})` | {summary(call)} |"


def dagster() -> Iterator[str]:
    """The public names of the library for Dagster."""
    yield from ("| name | what it is |", "|---|---|")
    for name in dagster_pravega.__all__:
        member = getattr(dagster_pravega, name)
        called = f"{name}({', '.join(inspect.signature(member).parameters)})" if inspect.isfunction(member) else name
        yield f"| `{called}` | {summary(member)} |"
    for resource in (
        dagster_pravega.PravegaResource,
        dagster_pravega.PravegaSparkIOManager,
        dagster_pravega.PravegaArrowIOManager,
    ):
        yield from ("", f"## Fields of {resource.__name__}", "| field | default | meaning |", "|---|---|---|")
        yield from fields(resource)
    for model in (
        component.PravegaStreamComponent,
        component.StreamModel,
        component.LagCheckModel,
        component.CutSensorModel,
        scope_component.PravegaScopeComponent,
        cdc_component.PravegaCdcComponent,
        cdc_component.CdcTableModel,
    ):
        yield from ("", f"## Attributes of {model.__name__}", summary(model), "")
        yield from ("| attribute | default | meaning |", "|---|---|---|", *fields(model))


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "errors.md": errors,
    "configuration.md": configuration,
    "schema-registry.md": registry,
    "dagster.md": dagster,
    "airflow.md": airflow,
    "spark.md": spark,
    "commands.md": commands,
    "client.md": client,
}


def main(*arguments: str) -> int:
    """Bring every table up to date, or with --check name those that are not."""
    stale = []
    for name, rows in TABLES.items():
        page = REFERENCE / name
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        fresh = before + BEGIN + "\n".join(rows()) + "\n" + END + after
        if fresh == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            page.write_text(fresh, encoding="utf-8")
    if "--check" in arguments:
        print(
            f"stale in docs/reference: {', '.join(stale)}; run make docs" if stale else "docs/reference is up to date"
        )
        return 1 if stale else 0
    print(f"written in docs/reference: {', '.join(stale) or 'nothing, all was up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
