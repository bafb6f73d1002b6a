"""The reference of the library for Dagster: a page for each room of `dagster_pravega`, from the docstrings.

A public function whose docstring lacks an argument is an error, and so is a public name of no room.
"""

import inspect
from collections.abc import Iterable, Iterator
from datetime import timedelta
from enum import Enum
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

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
from dagster_pravega.components.yaml_part import YamlPart

PACKAGE = "dagster_pravega"
ROOMS = {
    "resources": "Resources",
    "metadata": "Streams, partitions, ranges",
    "partitions": "Partitions and ranges",
    "tables": "Tables",
    "io": "IO managers",
    "assets": "Assets",
    "ops": "Jobs and ops",
    "sensors": "Sensors",
    "automation": "Conditions of automation",
    "checks": "Checks of assets",
    "components": "Components",
}


def room_of(name: str) -> str:
    """The room of a public name.

    Raises:
        ValueError: its module is in none of the rooms.
    """
    room: str = getattr(dagster_pravega, name).__module__.split(".")[1]
    if room not in ROOMS:
        raise ValueError(f"{PACKAGE}.{name} is in {room}, which is not one of the rooms {', '.join(ROOMS)}")
    return room


def field_rows(model: type[BaseModel]) -> Iterator[str]:
    """The fields of a resource, a configuration or a component; the fields that all share are the last."""
    shared = ServerConfig.model_fields.keys()
    described = {name: each for name, each in model.model_fields.items() if each.description}
    if not described:
        return
    yield from ("", "| field | type | default | meaning |", "|---|---|---|---|")
    shown = yaml_text if issubclass(model, YamlPart) else value_text
    for name, field in sorted(described.items(), key=lambda item: item[0] in shared):
        if field.is_required():
            default = "needed"
        else:
            default = "" if field.default in (None, PydanticUndefined) else f"`{cell(shown(field.default))}`"
        yield f"| `{name}` | {type_cell(unmarked(field.annotation))} | {default} | {cell(field.description or '')} |"


def yaml_text(value: Any) -> str:
    """A default as a file would have it."""
    match value:
        case Enum():
            return value_text(value.value)
        case timedelta():
            return f"'{value.total_seconds():g}s'"
    return value_text(value)


def unmarked(kind: Any) -> Any:
    """A type as readers need it: without the marks of `Annotated`, and an enumeration as its values."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return unmarked(inner[0])
    if origin in (Union, UnionType):
        return reduce(or_, (unmarked(each) for each in inner))
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return Literal[tuple(each.value for each in kind)]
    return kind


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
    """A class: what it is, its arguments or fields, its members."""
    yield from ("", f"## {name}", "", description(kind))
    if issubclass(kind, BaseModel):
        yield from field_rows(kind)
    elif documented := entries(sections(kind).get("Args", "")):
        parameters = {
            each: parameter for each, parameter in inspect.signature(kind).parameters.items() if each in documented
        }
        yield from ("", *argument_rows(parameters, documented, f"{PACKAGE}.{name}"))
    yield from error_rows(kind)
    # Dagster calls the methods of these.
    if not issubclass(kind, Component | ConfigurableIOManager):
        yield from member_rows(kind)


def part_sections(components: Iterable[type[BaseModel]]) -> Iterator[str]:
    """The parts of components' files, each once: the models that their fields have, and those of these."""
    found: list[type[BaseModel]] = list(components)
    of_components = len(found)
    for model in found:  # it grows
        for field in model.model_fields.values():
            found += [part for part in models_in(field.annotation) if part not in found]
    for part in found[of_components:]:
        yield from ("", f"## {part.__name__}", "", description(part), *field_rows(part))


def models_in(kind: Any) -> list[type[BaseModel]]:
    """The models of ours in a type, such as that of a list."""
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return [kind] if kind.__module__.split(".")[0] == PACKAGE else []
    return [part for each in get_args(kind) for part in models_in(each)]


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
        lines += part_sections(filter(is_component, (getattr(dagster_pravega, each) for each in known)))
        yield f"dagster/{room}", lines


def is_component(member: Any) -> bool:
    """Return True if a public name is a component."""
    return inspect.isclass(member) and issubclass(member, Component)
