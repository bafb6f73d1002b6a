"""Fail when a doc, a comment or a message uses a phrase that `words.txt` replaces by a plainer one.

Docstrings and comments of product code are held to `patterns.txt` as well: regular expressions, each with a limit of
how many there may be. A limit only sinks: `--fix` lowers it to what there is. `--list` shows all that a pattern finds.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORDS = Path(__file__).with_name("words.txt")
LIMITS = Path(__file__).with_name("patterns.txt")
# Vectors come from elsewhere; the lists themselves have to name the phrases.
PATTERNS = ("*.py", "*.md", "*.toml", "*.sh", ":!tests/vectors", ":!tests/unit/house")
PRODUCT = ("*/src/*.py", ":!*_pb2.py", ":!*_pb2_grpc.py")
FIRST = 10  # findings that are shown
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Limited(NamedTuple):
    """A pattern of `patterns.txt`: how often it may be found, and what to write instead."""

    limit: int
    docstrings_only: bool
    pattern: str
    advice: str

    @classmethod
    def parse(cls, line: str) -> "Limited":
        """Read a line of the file."""
        limit, where, pattern, advice = line.split("\t")
        return cls(int(limit), where == "docstrings", pattern, advice)


class Prose(NamedTuple):
    """A docstring or a comment, on one line: its file and line, and what it says."""

    where: str
    is_docstring: bool
    text: str


def phrases() -> dict[str, str]:
    """Each phrase, and what to write instead."""
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def findings(text: str, banned: dict[str, str]) -> list[tuple[int, str]]:
    """The lines where a phrase begins, counted from one, and the phrase; it may go over the end of a line."""
    spaces = r"(?: |\n\s*(?:# ?)?)"
    words = [spaces.join(map(re.escape, phrase.split(" "))) for phrase in banned]
    pattern = re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    return [
        (text.count("\n", 0, found.start()) + 1, " ".join(found[0].lower().replace("#", "").split()))
        for found in pattern.finditer(text)
    ]


def files(*patterns: str) -> list[str]:
    """The files that git knows or would add."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(listed, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def phrase_complaints() -> Iterator[str]:
    """Phrases in any file."""
    banned = phrases()
    for name in files(*PATTERNS):
        for number, phrase in findings((ROOT / name).read_text(encoding="utf-8"), banned):
            yield f"{name}:{number}: {phrase!r}: write {banned[phrase]!r}"


def docstrings(name: str, code: str) -> Iterator[Prose]:
    """All docstrings of a module."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield Prose(f"{name}:{node.body[0].lineno}", is_docstring=True, text=" ".join(text.split()))


def comments(name: str, code: str) -> Iterator[Prose]:
    """All comments of a module; those on lines one after the other are one."""
    block: list[str] = []
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1 and block:
            yield Prose(f"{name}:{last}", is_docstring=False, text=" ".join(block))
            block = []
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield Prose(f"{name}:{last}", is_docstring=False, text=" ".join(block))


def prose() -> list[Prose]:
    """All docstrings and comments of product code."""
    code = {name: (ROOT / name).read_text(encoding="utf-8") for name in files(*PRODUCT)}
    return [each for name, text in code.items() for read in (docstrings, comments) for each in read(name, text)]


def limits() -> list[Limited]:
    """The patterns, and how many there may be."""
    lines = LIMITS.read_text(encoding="utf-8").splitlines()
    return [Limited.parse(line) for line in lines if line and not line.startswith("#")]


def found(limited: Limited, texts: list[Prose]) -> list[str]:
    """Where a pattern is found, and what is there."""
    pattern = re.compile(limited.pattern, re.IGNORECASE)
    return [
        f"{each.where}: …{each.text[max(0, match.start() - 30) : match.end() + 30]}…"
        for each in texts
        if each.is_docstring or not limited.docstrings_only
        for match in pattern.finditer(each.text)
    ]


def changed(lines: list[str]) -> list[str]:
    """The findings in files that are not committed as they are."""
    status = subprocess.run(["git", "status", "--porcelain"], check=True, capture_output=True, text=True, cwd=ROOT)
    names = {line[3:].rpartition(" -> ")[2] for line in status.stdout.splitlines()}
    return [line for line in lines if line.partition(":")[0] in names]


def pattern_complaints(texts: list[Prose]) -> Iterator[str]:
    """Patterns that are found more often than they may be, with what is in changed files, or with the first ten."""
    for limited in limits():
        lines = found(limited, texts)
        if len(lines) > limited.limit:
            yield f"{limited.pattern}: {len(lines)} times, at most {limited.limit} are allowed: {limited.advice}"
            yield from (f"  {line}" for line in changed(lines) or lines[:FIRST])


def counts(texts: list[Prose]) -> Iterator[str]:
    """How many there are of each pattern."""
    for limited in limits():
        number = len(found(limited, texts))
        sinks = f" (allowed are {limited.limit}: make fix)" if number < limited.limit else ""
        yield f"{number:5} {limited.pattern}{sinks}"


def lower(texts: list[Prose]) -> None:
    """Lower each limit to what there is."""
    lines = LIMITS.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith("#"):
            limited = Limited.parse(line)
            least = min(limited.limit, len(found(limited, texts)))
            lines[number] = "\t".join([str(least), *line.split("\t")[1:]])
    LIMITS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Check every file that git knows or would add."""
    parser = argparse.ArgumentParser(description="Look for phrases and patterns that have plainer words.")
    parser.add_argument("--fix", action="store_true", help="lower the limits of patterns to what there is")
    parser.add_argument("--list", metavar="TEXT", help="show all that the patterns find whose expression has this text")
    options = parser.parse_args()
    texts = prose()
    if options.list is not None:
        print("\n".join(line for each in limits() if options.list in each.pattern for line in found(each, texts)))
        return 0
    if options.fix:
        lower(texts)
    bad = [*phrase_complaints(), *pattern_complaints(texts)]
    if bad:
        print("\n".join(bad))
        return 1
    print(f"none of {len(phrases())} banned phrases; in docstrings and comments of product code are:")
    print("\n".join(counts(texts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
