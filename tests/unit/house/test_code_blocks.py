"""The code of how-to pages and tutorials is code: each block compiles, or parses, as what it says it is.

Tutorials run as a whole in `tests/system/test_tutorials.py`, and some how-to pages in tests of their own.
"""

import ast
import re
import subprocess
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted([*DOCS.glob("how-to/*.md"), *DOCS.glob("tutorials/*.md"), DOCS.parent / "README.md"])
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# How a page leaves something out.
ELLIPSIS = "…"


def blocks(page: Path, *languages: str) -> list[str]:
    """The code of some languages on a page."""
    return [textwrap.dedent(code) for _, language, code in BLOCK.findall(page.read_text()) if language in languages]


def of_all(*languages: str) -> list[ParameterSet]:
    """All blocks of all pages, as cases of a test."""
    found = [
        pytest.param(code, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, code in enumerate(blocks(page, *languages), 1)
    ]
    assert found
    return found


@pytest.mark.parametrize("code", of_all("python"))
def test_python_compiles(code: str) -> None:
    # `await` stands alone where the client is asyncio's.
    compile(code.replace(ELLIPSIS, "..."), "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("code", of_all("bash", "sh"))
def test_shell_parses(code: str) -> None:
    done = subprocess.run(["bash", "-n"], input=code, text=True, capture_output=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", of_all("yaml", "yml"))
def test_yaml_parses(code: str) -> None:
    yaml: Any = import_module("yaml")  # it brings no types

    assert yaml.safe_load(code)


@pytest.mark.parametrize("code", of_all("properties"))
def test_properties_are_names_and_values(code: str) -> None:
    assert all(re.fullmatch(r"[\w.-]+=\S.*", line) for line in code.splitlines())


def test_every_language_of_a_block_is_checked_or_is_sql() -> None:
    """The tests of the catalog run the statements of SQL, and text is a drawing."""
    languages = {language for page in PAGES for _, language, _ in BLOCK.findall(page.read_text())}

    assert languages <= {"python", "bash", "sh", "yaml", "yml", "properties", "sql", "text"}
