"""The reference of the client, from the docstrings of its methods: what each takes, does, and raises."""

import inspect
from collections.abc import Iterator

from tools.airflow_reference import entries, sections

from aiopravega.client import PravegaClient


def methods(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods of a class: its own first, then those of its bases, each in the order of its module."""
    seen: set[str] = set()
    for base in kind.__mro__:
        for name, member in vars(base).items():
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if name.startswith("_") or name in seen or not inspect.isfunction(plain):
                continue
            seen.add(name)
            yield name, plain


def one_line(text: str) -> str:
    """A paragraph as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def client() -> Iterator[str]:
    """The methods of the client.

    Raises:
        ValueError: a method has no docstring.
    """
    yield from ("| method | what it does | errors |", "|---|---|---|")
    for name, method in methods(PravegaClient):
        parts = sections(method)
        if not parts[""].strip():
            raise ValueError(f"PravegaClient.{name} has no docstring")
        given = [word for word in inspect.signature(method).parameters if word != "self"]  # type: ignore[arg-type]  # a function
        errors = ", ".join(f"`{error}`" for error in entries(parts.get("Raises", "")))
        first = parts[""].split("\n\n")[0]
        yield f"| `{name}({', '.join(given)})` | {one_line(first)} | {errors} |"
