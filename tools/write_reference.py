"""Write the parts of docs/reference that say what the code says; with --check, fail when one is stale.

A page holds its prose itself, and its tables between two markers. Pages in the folders of `FOLDERS` are written whole,
and a page there that nothing writes any more is removed.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from tools.airflow_reference import airflow, airflow_pages
from tools.client_reference import client, client_pages
from tools.command_reference import commands
from tools.dagster_reference import dagster, dagster_pages
from tools.docstrings import summary
from tools.spark_reference import spark

from aiopravega.config import PravegaConfig
from aiopravega.credentials import ServerConfig
from aiopravega.errors import PravegaError
from aiopravega.schema import RegistryConfig, SchemaRegistry

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
BEGIN, END = "<!-- written by make docs -->\n", "<!-- end -->\n"


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


FOLDERS: dict[str, Callable[[], Iterator[tuple[str, list[str]]]]] = {
    "airflow": airflow_pages,
    "client": client_pages,
    "dagster": dagster_pages,
}


def fresh_texts() -> dict[Path, str]:
    """Each page as the code has it now."""
    texts = {}
    for name, rows in TABLES.items():
        page = REFERENCE / name
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        texts[page] = before + BEGIN + "\n".join(rows()) + "\n" + END + rest.partition(END)[2]
    for path, lines in chain.from_iterable(pages() for pages in FOLDERS.values()):
        title, *others = lines
        texts[REFERENCE / f"{path}.md"] = "\n".join([title, BEGIN, *others]).replace("\n\n\n", "\n\n").rstrip() + "\n"
    return texts


def text_of(page: Path) -> str:
    """The text of a page; empty if there is no such page."""
    return page.read_text(encoding="utf-8") if page.exists() else ""


def main(*arguments: str) -> int:
    """Bring every page up to date, or with --check name those that are not."""
    fresh = fresh_texts()
    gone = [page for folder in FOLDERS for page in (REFERENCE / folder).rglob("*.md") if page not in fresh]
    stale = [page for page, text in fresh.items() if text_of(page) != text]
    names = ", ".join(str(page.relative_to(REFERENCE)) for page in [*stale, *gone])
    if "--check" in arguments:
        print(f"stale in docs/reference: {names}; run make fix" if names else "docs/reference is up to date")
        return 1 if names else 0
    for page in stale:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(fresh[page], encoding="utf-8")
    for page in gone:
        page.unlink()
    print(f"written in docs/reference: {names or 'nothing, all was up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
