"""The blocks of code on the pages for users, by page and number, and those that no test runs, each with its reason."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_DISTRIBUTIONS: Final = (
    "aiopravega",
    "pravega_emulator",
    "pravega_jobs",
    "pyspark_pravega",
    "providers/pravega",
    "dagster_pravega",
)
# By name: that of the file for tutorials, how-to pages and the site's first page, that of the folder for the page of a
# distribution.
PAGES: Final = {
    **{page.stem: page for folder in ("how-to", "tutorials") for page in sorted((ROOT / "docs" / folder).glob("*.md"))},
    "index": ROOT / "docs" / "index.md",
    "README": ROOT / "README.md",
    **{f"README of {folder}": ROOT / folder / "README.md" for folder in _DISTRIBUTIONS},
}


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: the name of its page.
        number: which of the page's blocks that have a language it is, from 1.
        language: as it stands behind the backquotes.
        code: without the indentation of a list.
    """

    page: str
    number: int
    language: str
    code: str

    @property
    def name(self) -> str:
        """How a table and an error name it."""
        return f"{self.page} {self.number}"


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page that say their language; blocks that say none are output, or what is typed."""
    found = [match for match in _BLOCK.findall(PAGES[page].read_text(encoding="utf-8")) if match[1]]
    return [
        Block(page, number, language, textwrap.dedent(code))
        for number, (_, language, code) in enumerate(found, start=1)
    ]


def block_with(page: str, text: str) -> Block:
    """The one block of a page that has a text, wherever it stands."""
    [found] = [block for block in blocks_of(page) if text in block.code]
    return found


def program_of(page: str) -> str:
    """The Python of a page, as one program."""
    return "\n".join(block.code for block in blocks_of(page) if block.language == "python")


def typed_on(page: str) -> list[str]:
    """The blocks of a page that say no language."""
    return [code for _, language, code in _BLOCK.findall(PAGES[page].read_text(encoding="utf-8")) if not language]
