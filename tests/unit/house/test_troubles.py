"""The page of troubles quotes what the code says: each text is in the code, and each class is in the error tree."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from aiopravega import errors

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "troubles.md"
SOURCES = ("aiopravega", "pravega_emulator", "pravega_jobs", "pyspark_pravega", "providers/pravega", "dagster_pravega")
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \|", re.MULTILINE)
HOLE = "…"
TROUBLES = ROW.findall(PAGE.read_text())


def text_of(node: ast.expr) -> str | None:
    """A text as it is written in the code, with holes for what is filled in; None for what is not a text."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(text_of(part) or HOLE for part in parts)
    return None


@cache
def texts() -> str:
    """All texts of all modules, one a line."""
    modules = [path for source in SOURCES for path in (ROOT / source / "src").rglob("*.py")]
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.expr)]
    return "\n".join(text.replace("\n", " ") for node in nodes if (text := text_of(node)))


def test_the_page_has_thirty_troubles() -> None:
    assert len(TROUBLES) >= 30


@pytest.mark.parametrize(("error", "text"), TROUBLES, ids=[text for _, text in TROUBLES])
def test_the_code_raises_each_error_with_its_text(error: str, text: str) -> None:
    assert issubclass(getattr(errors, error), errors.PravegaError)
    # What fills a hole is not known; what is around it is, in this order, in one text.
    assert re.search("[^\n]*".join(map(re.escape, text.split(HOLE))), texts())
