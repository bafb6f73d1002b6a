"""The reference of Airflow's provider: a page for each module that the provider's info names, from the docstrings.

A docstring that leaves out an argument, or differs from `template_fields` in what is templated, is an error.
"""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from tools.docstrings import default_cell, description, entries, error_rows, sections, summary, type_cell

from airflow_pravega.provider_info import get_provider_info

KINDS = {"operators": "Operators", "sensors": "Sensors", "triggers": "Triggers", "hooks": "Hook"}
# Where the errors of each are documented, the first that has them.
WORK = ("execute", "poke", "run")
PACKAGE = "airflow_pravega"
TEMPLATED = " (templated)"


def own_bases(kind: type) -> list[type]:
    """A class, and what it inherits from in the provider."""
    return [base for base in kind.__mro__ if base.__module__.split(".")[0] == PACKAGE]


def parameters(kind: type) -> dict[str, inspect.Parameter]:
    """The arguments of a class that the provider adds to those of Airflow's."""
    found: dict[str, inspect.Parameter] = {}
    for base in own_bases(kind):
        if "__init__" in vars(base):
            for name, parameter in inspect.signature(vars(base)["__init__"]).parameters.items():
                if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                    found.setdefault(name, parameter)
    return found


def argument_rows(kind: type) -> Iterator[str]:
    """The arguments of a class.

    Raises:
        ValueError: the docstring lacks one, or says something else of templates than `template_fields`.
    """
    documented: dict[str, str] = {}
    for base in reversed(own_bases(kind)):
        documented |= entries(sections(base).get("Args", ""))
    templated = set(getattr(kind, "template_fields", ()))
    yield from ("| argument | type | default | templated | meaning |", "|---|---|---|---|---|")
    for name, parameter in parameters(kind).items():
        if name not in documented:
            raise ValueError(f"{kind.__module__}.{kind.__name__}: the docstring says nothing of {name!r}")
        meaning = documented[name]
        if (TEMPLATED in meaning) != (name in templated):
            raise ValueError(f"{kind.__name__}: the docstring and template_fields differ in whether {name!r} is one")
        meaning = meaning.replace(TEMPLATED, "").replace("|", "\\|")
        # The default of this one depends on where the page is written, for sensors.
        is_of_airflow = name == "deferrable" and ".sensors." in kind.__module__
        default = "Airflow's" if is_of_airflow else default_cell(parameter)
        in_templates = "yes" if name in templated else ""
        yield f"| `{name}` | {type_cell(parameter.annotation)} | {default} | {in_templates} | {meaning} |"


def work_of(kind: type) -> Callable[..., Any] | None:
    """The method whose docstring names the errors."""
    methods = [vars(base).get(name) for base in own_bases(kind) for name in WORK]
    return next((method for method in methods if "Raises" in sections(method)), None)


def class_section(kind: type) -> Iterator[str]:
    """What one class is, takes, and raises."""
    yield from ("", f"## {kind.__name__}", "", description(kind), "")
    if parameters(kind):
        yield from argument_rows(kind)
    yield from error_rows(work_of(kind))


def method_rows(kind: type) -> Iterator[str]:
    """The methods of a hook or a queue."""
    yield from ("", "| method | what it does |", "|---|---|")
    for name, method in vars(kind).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            yield f"| `{name}()` | {summary(method)} |"


def decorator_section(name: str, path: str) -> Iterator[str]:
    """What a decorator of TaskFlow takes, and raises."""
    function = resolve_name(path)
    yield from ("", f"## @task.{name}", "", description(function), "")
    yield from ("| argument | meaning |", "|---|---|")
    yield from (f"| `{word}` | {meaning} |" for word, meaning in entries(sections(function).get("Args", "")).items())
    yield from error_rows(function)


def classes(module: str) -> list[type]:
    """The classes of a module that are for Airflow."""
    members = vars(import_module(module)).values()
    return [
        each
        for each in members
        if inspect.isclass(each) and each.__module__ == module and each.__name__.startswith("Pravega")
    ]


def contents() -> dict[str, dict[str, tuple[list[str], list[str]]]]:
    """By the kind, then by the module: the names in it, and the lines about them."""
    known = get_provider_info()
    found: dict[str, dict[str, tuple[list[str], list[str]]]] = {title: {} for title in KINDS.values()}
    for key, title in KINDS.items():
        for module in (name for each in known[key] for name in each["python-modules"]):
            lines: list[str] = []
            for kind in classes(module):
                lines += [*class_section(kind), *(method_rows(kind) if key == "hooks" else ())]
            if lines:
                found[title][module] = ([kind.__name__ for kind in classes(module)], lines)
    found["Decorators"] = {
        each["class-name"].rpartition(".")[0]: (
            [f"@task.{each['name']}"],
            [*decorator_section(each["name"], each["class-name"])],
        )
        for each in known["task-decorators"]
    }
    found["Queues"] = {}
    for path in known["queues"]:
        kind = resolve_name(path)
        found["Queues"][kind.__module__] = ([kind.__name__], [*class_section(kind), *method_rows(kind)])
    return found


def path_of(module: str) -> str:
    """The page of a module: `operators/stream` for `airflow_pravega.operators.stream`."""
    return module.removeprefix(f"{PACKAGE}.").replace(".", "/")


def airflow() -> Iterator[str]:
    """The list of the pages: each module with the names in it."""
    for title, modules in contents().items():
        yield from ("", f"## {title}", "")
        for module, (names, _) in modules.items():
            given = ", ".join(f"`{name}`" for name in names)
            yield f"- [{path_of(module)}](airflow/{path_of(module)}.md): {given}"


def airflow_pages() -> Iterator[tuple[str, list[str]]]:
    """The pages: the path of each, and its lines."""
    for modules in contents().values():
        for module, (_, lines) in modules.items():
            yield f"airflow/{path_of(module)}", [f"# {module}", "", description(import_module(module)), *lines]
