"""Docstrings and signatures as Markdown: descriptions, tables of arguments with their types, tables of errors."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from typing import Any

SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\n", re.MULTILINE)
ENTRY = re.compile(r"^    (\*{0,2}\w+): ", re.MULTILINE)
# Names of modules before a name: `collections.abc.Iterable` is `Iterable`.
MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
WIDEST = 100  # characters of a signature on one line


def sections(documented: object) -> dict[str, str]:
    """The parts of a docstring: what comes first under no name, then `Args` and others."""
    first, *rest = SECTION.split(inspect.cleandoc(getattr(documented, "__doc__", None) or ""))
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def entries(text: str) -> dict[str, str]:
    """The entries of a section, each on one line."""
    _, *rest = ENTRY.split(text)
    return {name: " ".join(each.split()) for name, each in zip(rest[::2], rest[1::2], strict=True)}


def summary(documented: object) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(sections(documented)[""].split("\n\n")[0].split())


def description(documented: object) -> str:
    """All paragraphs before the first section, each on one line; lists keep their lines."""
    paragraphs = sections(documented)[""].strip().split("\n\n")
    return "\n\n".join(each if each.startswith("- ") else " ".join(each.split()) for each in paragraphs)


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def type_text(annotation: Any) -> str:
    """A type as a reader writes it, without the modules of its names; empty if there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return MODULES.sub("", text.replace("'", ""))


def type_cell(annotation: Any) -> str:
    """A type as a cell of a table."""
    text = type_text(annotation)
    return f"`{cell(text)}`" if text else ""


def value_text(value: object) -> str:
    """A default as code has it."""
    match value:
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case timedelta():
            return MODULES.sub("", repr(value))
    return repr(value)


def default_cell(parameter: inspect.Parameter) -> str:
    """A default as a cell of a table."""
    if parameter.default is inspect.Parameter.empty:
        return "" if parameter.kind is inspect.Parameter.VAR_KEYWORD else "needed"
    return f"`{cell(value_text(parameter.default))}`"


def signature_text(function: Callable[..., Any], name: str) -> str:
    """A function as it is called, with types; on several lines if it is long."""
    signature = inspect.signature(function)
    name = f"async {name}" if inspect.iscoroutinefunction(function) else name
    given = []
    star = False  # that what follows is given by name
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            given.append("*")
        star = star or parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
        prefix = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        prefix = "**" if parameter.kind is parameter.VAR_KEYWORD else prefix
        kind = type_text(parameter.annotation)
        default = "" if parameter.default is inspect.Parameter.empty else f" = {value_text(parameter.default)}"
        given.append(f"{prefix}{parameter.name}{f': {kind}' if kind else ''}{default}")
    result = type_text(signature.return_annotation)
    end = f") -> {result}" if result else ")"
    line = f"{name}({', '.join(given)}{end}"
    return line if len(line) <= WIDEST else "\n".join([f"{name}(", *(f"    {each}," for each in given), end])


def argument_rows(parameters: Mapping[str, inspect.Parameter], documented: Mapping[str, str], of: str) -> Iterator[str]:
    """A table of arguments: types, defaults, meaning.

    Raises:
        ValueError: the docstring lacks an argument, or has one that there is not.
    """
    names = {f"**{name}" if each.kind is each.VAR_KEYWORD else name: each for name, each in parameters.items()}
    if missing := names.keys() - documented.keys():
        raise ValueError(f"{of}: the docstring lacks the arguments {', '.join(sorted(missing))}")
    if unknown := documented.keys() - names.keys():
        raise ValueError(f"{of}: the docstring has arguments that there are not: {', '.join(sorted(unknown))}")
    yield from ("| argument | type | default | meaning |", "|---|---|---|---|")
    for name, parameter in names.items():
        yield (
            f"| `{name}` | {type_cell(parameter.annotation)} | {default_cell(parameter)} | {cell(documented[name])} |"
        )


def error_rows(function: object) -> Iterator[str]:
    """A table of the errors that a docstring names, if it names any."""
    errors = entries(sections(function).get("Raises", ""))
    if errors:
        yield from ("", "| error | when |", "|---|---|")
        yield from (f"| `{name}` | {cell(when)} |" for name, when in errors.items())
