"""The reference of the client: a page for each class of calls, from the docstrings of its methods."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tools.docstrings import cell, description, entries, error_rows, sections, signature_text, summary

from aiopravega.client import PravegaClient

# The page of the client's own methods; those of its bases are called as the packages that they are in.
OWN = "streams"
TITLES = {
    OWN: "Scopes, streams, writes, tables",
    "read": "Cuts, ranges, reads",
    "event_time": "Event time",
    "groups": "Reader groups",
    "ledger": "Ledgers",
}


def methods(kind: type) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """The public methods of a class, its own first: the page of each, its name, and itself."""
    seen: set[str] = set()
    for base in kind.__mro__:
        page = OWN if base is kind else base.__module__.split(".")[1 if base.__module__.count(".") else 0]
        for name, member in vars(base).items():
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if name.startswith("_") or name in seen or not inspect.isfunction(plain):
                continue
            seen.add(name)
            yield page, name, plain


def pages() -> dict[str, dict[str, Callable[..., Any]]]:
    """The methods of each page.

    Raises:
        ValueError: a method has no docstring.
    """
    found: dict[str, dict[str, Callable[..., Any]]] = {}
    for page, name, method in methods(PravegaClient):
        if not summary(method):
            raise ValueError(f"PravegaClient.{name} has no docstring")
        found.setdefault(page, {})[name] = method
    return found


def client() -> Iterator[str]:
    """The list of the pages, and all methods with what they do."""
    found = pages()
    for page in found:
        yield f"- [{TITLES.get(page, page)}](client/{page}.md)"
    yield from ("", "| method | what it does | errors |", "|---|---|---|")
    for page, known in found.items():
        for name, method in known.items():
            errors = ", ".join(f"`{error}`" for error in entries(sections(method).get("Raises", "")))
            yield f"| [`{name}`](client/{page}.md#{name}) | {cell(summary(method))} | {errors} |"


def client_pages() -> Iterator[tuple[str, list[str]]]:
    """The pages: the path of each, and its lines."""
    for page, known in pages().items():
        title = TITLES.get(page, page)
        lines = [f"# The client: {title[0].lower()}{title[1:]}"]
        for name, method in known.items():
            lines += ["", f"## {name}", "", "```python", signature_text(method, name), "```", "", description(method)]
            if documented := entries(sections(method).get("Args", "")):
                lines += ["", "| argument | meaning |", "|---|---|"]
                lines += [f"| `{word}` | {cell(meaning)} |" for word, meaning in documented.items()]
            lines += error_rows(method)
        yield f"client/{page}", lines
