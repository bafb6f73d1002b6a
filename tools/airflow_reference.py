"""The reference of Airflow's provider, from the docstrings of its operators, sensors, triggers, hook and decorators.

A docstring that leaves out an argument, or differs from `template_fields` in what is templated, is an error.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from airflow_pravega.provider_info import get_provider_info

KINDS = {"operators": "Operators", "sensors": "Sensors", "triggers": "Triggers", "hooks": "Hook"}
# Where the errors of each are documented, the first that has them.
WORK = ("execute", "poke", "run")
PACKAGE = "airflow_pravega"
SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\n", re.MULTILINE)
ENTRY = re.compile(r"^    (\*{0,2}\w+): ", re.MULTILINE)
TEMPLATED = " (templated)"


def sections(documented: object) -> dict[str, str]:
    """The parts of a docstring: what comes first under no name, then `Args` and others."""
    first, *rest = SECTION.split(inspect.cleandoc(getattr(documented, "__doc__", None) or ""))
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def entries(text: str) -> dict[str, str]:
    """The entries of a section, each on one line."""
    _, *rest = ENTRY.split(text)
    return {name: " ".join(each.split()) for name, each in zip(rest[::2], rest[1::2], strict=True)}


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


def shown_default(parameter: inspect.Parameter) -> str:
    """A default as a table has it."""
    if parameter.default is inspect.Parameter.empty:
        return "needed"
    text = repr(parameter.default).replace("|", "\\|")
    # It depends on where the page is written.
    return "Airflow's" if parameter.name == "deferrable" else f"`{text}`"


def argument_rows(kind: type) -> Iterator[str]:
    """The arguments of a class.

    Raises:
        ValueError: the docstring lacks one, or says something else of templates than `template_fields`.
    """
    documented: dict[str, str] = {}
    for base in reversed(own_bases(kind)):
        documented |= entries(sections(base).get("Args", ""))
    templated = set(getattr(kind, "template_fields", ()))
    yield from ("| argument | default | templated | meaning |", "|---|---|---|---|")
    for name, parameter in parameters(kind).items():
        if name not in documented:
            raise ValueError(f"{kind.__module__}.{kind.__name__}: the docstring says nothing of {name!r}")
        meaning = documented[name]
        if (TEMPLATED in meaning) != (name in templated):
            raise ValueError(f"{kind.__name__}: the docstring and template_fields differ in whether {name!r} is one")
        meaning = meaning.replace(TEMPLATED, "").replace("|", "\\|")
        yield f"| `{name}` | {shown_default(parameter)} | {'yes' if name in templated else ''} | {meaning} |"


def error_rows(function: Callable[..., Any] | None) -> Iterator[str]:
    """The errors that a function's docstring names."""
    errors = entries(sections(function).get("Raises", ""))
    if errors:
        yield from ("", "| error | when |", "|---|---|", *(f"| `{name}` | {when} |" for name, when in errors.items()))


def work_of(kind: type) -> Callable[..., Any] | None:
    """The method whose docstring names the errors."""
    methods = [vars(base).get(name) for base in own_bases(kind) for name in WORK]
    return next((method for method in methods if "Raises" in sections(method)), None)


def section(kind: type) -> Iterator[str]:
    """What one class is, takes, and raises."""
    description = "\n\n".join(" ".join(each.split()) for each in sections(kind)[""].strip().split("\n\n"))
    yield from ("", f"### {kind.__name__}", f"`{kind.__module__}`", "", description, "")
    if parameters(kind):
        yield from argument_rows(kind)
    yield from error_rows(work_of(kind))


def hook_methods(kind: type) -> Iterator[str]:
    """What a hook can be asked."""
    yield from ("", "| method | what it does |", "|---|---|")
    for name, method in vars(kind).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            yield f"| `{name}()` | {' '.join(sections(method)[''].split(chr(10) * 2)[0].split())} |"


def airflow() -> Iterator[str]:
    """The classes that Airflow gets to know, each with its arguments, templated fields and errors."""
    known = get_provider_info()
    for key, title in KINDS.items():
        yield from ("", f"## {title}") if key != "operators" else (f"## {title}",)
        for module in (name for each in known[key] for name in each["python-modules"]):
            for kind in vars(import_module(module)).values():
                if inspect.isclass(kind) and kind.__module__ == module and kind.__name__.startswith("Pravega"):
                    yield from section(kind)
                    yield from hook_methods(kind) if key == "hooks" else ()
    yield from ("", "## Decorators")
    for each in known["task-decorators"]:
        function = resolve_name(each["class-name"])
        yield from ("", f"### @task.{each['name']}", f"`{each['class-name']}`", "")
        documented = entries(sections(function).get("Args", ""))
        yield from ("| argument | meaning |", "|---|---|")
        yield from (f"| `{name}` | {meaning} |" for name, meaning in documented.items())
        yield from error_rows(function)
