"""Fail when more tests have long names than a limit allows. The limit only sinks.

A name says situation and result: `test_a_truncated_range_is_refused`. `--list` shows the long ones.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 68  # characters
LIMIT = 0  # tests with a longer name; it only sinks


def long_names(text: str) -> Iterator[str]:
    """The long names of the tests in a module."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) if name.startswith("test_") and len(name) > LONGEST:
                yield name


def main() -> int:
    """Check every file of tests that git knows or would add."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests/**.py"]
    files = subprocess.run(listing, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    found = [
        f"{file}: {name} ({len(name)} characters)"
        for file in files
        if (ROOT / file).exists()
        for name in long_names((ROOT / file).read_text(encoding="utf-8"))
    ]
    too_many = len(found) > LIMIT
    if too_many or "--list" in sys.argv[1:]:
        print("\n".join(found))
    sinks = ": lower LIMIT of this tool" if len(found) < LIMIT else ""
    print(f"{len(found)} tests have names of more than {LONGEST} characters, at most {LIMIT} may{sinks}")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
