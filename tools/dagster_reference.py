"""The reference of the library for Dagster: a page for each room of `dagster_pravega`, from the docstrings.

A public function whose docstring lacks an argument is an error, and so is a public name of no room.
"""

import inspect
from collections.abc import Iterator
from typing import Any

from dagster import Component, ConfigurableIOManager
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from tools.docstrings import (
    argument_rows,
    cell,
    description,
    entries,
    error_rows,
    sections,
    signature_text,
    summary,
    type_cell,
    type_text,
    value_text,
)

import dagster_pravega
from aiopravega.credentials import ServerConfig

PACKAGE = "dagster_pravega"
ROOMS = {
    "resources": "Resources",
    "metadata": "Streams as assets",
    "partitions": "Partitions and ranges",
    "tables": "Tables",
    "io": "IO managers",
    "assets": "Assets",
    "ops": "Jobs and ops",
    "sensors": "Sensors",
    "checks": "Checks of assets",
    "components": "Components",
}
# Modules that are in no room yet. Once they are, this goes.
NOT_MOVED = {
    "arrow_io": "io",
    "cdc": "assets",
    "cdc_component": "components",
    "cdc_drift": "checks",
    "cdc_ghosts": "checks",
    "complete": "sensors",
    "component": "components",
    "cut_backfill": "ops",
    "cut_partitions": "partitions",
    "cut_sensor": "sensors",
    "debezium": "checks",
    "decode_errors": "checks",
    "drift": "checks",
    "external": "assets",
    "freshness": "checks",
    "gates": "checks",
    "group_lag": "checks",
    "group_sensor": "sensors",
    "handed_range": "io",
    "io_manager": "io",
    "lag": "checks",
    "landed": "assets",
    "landing_database": "resources",
    "maintenance": "ops",
    "observed": "assets",
    "pipes": "ops",
    "ranges": "partitions",
    "resource": "resources",
    "row_count": "checks",
    "schema_registry": "resources",
    "scope_component": "components",
    "sessions": "resources",
    "spec": "metadata",
    "stream_batches": "io",
    "stream_read": "io",
}


def room_of(name: str) -> str:
    """The room of a public name.

    Raises:
        ValueError: its module is in none of the rooms.
    """
    part: str = getattr(dagster_pravega, name).__module__.split(".")[1]
    room = NOT_MOVED.get(part, part)
    if room not in ROOMS:
        raise ValueError(f"{PACKAGE}.{name} is in {part}, which is not one of the rooms {', '.join(ROOMS)}")
    return room


def field_rows(model: type[BaseModel]) -> Iterator[str]:
    """The fields of a resource, a configuration or a component; the fields that all share are the last."""
    shared = ServerConfig.model_fields.keys()
    described = {name: each for name, each in model.model_fields.items() if each.description}
    if not described:
        return
    yield from ("", "| field | type | default | meaning |", "|---|---|---|---|")
    for name, field in sorted(described.items(), key=lambda item: item[0] in shared):
        if field.is_required():
            default = "needed"
        else:
            default = "" if field.default in (None, PydanticUndefined) else f"`{cell(value_text(field.default))}`"
        yield f"| `{name}` | {type_cell(field.annotation)} | {default} | {cell(field.description or '')} |"


def member_rows(kind: type) -> Iterator[str]:
    """The properties and methods that a class of ours adds to those of its bases from Dagster."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.split(".")[0] == PACKAGE:
            for name, member in vars(base).items():
                plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
                    found.setdefault(name, plain)
    shown = {name: member for name, member in found.items() if summary(member)}
    if not shown:
        return
    yield from ("", "| member | what it is |", "|---|---|")
    for name, member in shown.items():
        if isinstance(member, property):
            of = type_text(inspect.signature(member.fget).return_annotation) if member.fget else ""
            text = f"{name}: {of}"
        else:
            text = " ".join(signature_text(member, name).replace(",\n)", ")").split()).replace("( ", "(")
        yield f"| `{cell(text)}` | {cell(summary(member))} |"


def function_section(name: str, function: Any) -> Iterator[str]:
    """A function: what it does and returns, its arguments with their types, its errors."""
    signature = inspect.signature(function)
    yield from ("", f"## {name}", "", description(function), "")
    yield from (f"Returns {type_cell(signature.return_annotation)}.", "")
    documented = entries(sections(function).get("Args", ""))
    yield from argument_rows(signature.parameters, documented, f"{PACKAGE}.{name}")
    yield from error_rows(function)


def class_section(name: str, kind: type) -> Iterator[str]:
    """A class: what it is, its arguments or fields, its members; behind a component, the models of its parts."""
    yield from ("", f"## {name}", "", description(kind))
    if issubclass(kind, BaseModel):
        yield from field_rows(kind)
    elif documented := entries(sections(kind).get("Args", "")):
        parameters = {
            each: parameter for each, parameter in inspect.signature(kind).parameters.items() if each in documented
        }
        yield from ("", *argument_rows(parameters, documented, f"{PACKAGE}.{name}"))
    yield from error_rows(kind)
    if issubclass(kind, Component):
        yield from part_sections(kind)
    elif not issubclass(kind, ConfigurableIOManager):  # Dagster calls the methods of these
        yield from member_rows(kind)


def part_sections(component: type) -> Iterator[str]:
    """The models of a component's parts, which its module defines."""
    for name, model in vars(inspect.getmodule(component)).items():
        if (
            inspect.isclass(model)
            and issubclass(model, BaseModel)
            and model.__module__ == component.__module__
            and model is not component
            and not name.startswith("_")
        ):
            yield from ("", f"## {name}", "", description(model), *field_rows(model))


def names() -> dict[str, list[str]]:
    """The public names of each room that has any."""
    found: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in dagster_pravega.__all__:
        found[room_of(name)].append(name)
    return {room: each for room, each in found.items() if each}


def dagster() -> Iterator[str]:
    """The list of the pages, each with the names on it."""
    for room, known in names().items():
        yield f"- [{ROOMS[room]}](dagster/{room}.md): {', '.join(f'`{name}`' for name in known)}"
    yield from ("", "| name | what it is |", "|---|---|")
    for name in dagster_pravega.__all__:
        member = getattr(dagster_pravega, name)
        yield f"| [`{name}`](dagster/{room_of(name)}.md#{name.lower()}) | {cell(summary(member))} |"


def dagster_pages() -> Iterator[tuple[str, list[str]]]:
    """The pages: the path of each, and its lines."""
    for room, known in names().items():
        lines = [f"# {ROOMS[room]} of dagster_pravega"]
        for name in known:
            member = getattr(dagster_pravega, name)
            lines += class_section(name, member) if inspect.isclass(member) else function_section(name, member)
        yield f"dagster/{room}", lines
