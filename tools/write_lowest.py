"""Resolve the oldest packages that each distribution allows: `tests/lowest/NAME.lock`, with hashes.

python -m tools.write_lowest

What our distributions ask for, extras included, is in the lowest version that their bounds allow. All else, the tools
of the tests among it, stays as in requirements.lock where that fits. A lock has only what differs from it.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.release import FOLDERS, ROOT
from uv import find_uv_bin

LOCKED: Final = ROOT / "requirements.lock"
LOWEST: Final = ROOT / "tests" / "lowest"
_ENTRY: Final = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>\S+)[^\n]*\n(?:[ #][^\n]*\n)*", re.MULTILINE)


def asked_for() -> set[str]:
    """The names of all that our distributions ask for, with any extra."""
    return {canonicalize_name(Requirement(text).name) for folder in FOLDERS for text in requirements(folder)}


def requirements(folder: str) -> Iterator[str]:
    """The requirements of a distribution, with all extras."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from project["dependencies"]
    for extra in project.get("optional-dependencies", {}).values():
        yield from extra


def entries(lock: str) -> dict[tuple[str, str], str]:
    """The texts of a lock, by name and version."""
    return {(found["name"], found["version"]): found[0] for found in _ENTRY.finditer(lock)}


def resolved(wanted: Path, ours: set[str]) -> str:
    """The differences from requirements.lock after the packages of `wanted` and their requirements are resolved."""
    locked = entries(LOCKED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        tools, found = Path(folder) / "tools.txt", Path(folder) / "found.txt"
        # What is in the file is kept, even where a lower version is allowed.
        kept = [text for (name, _), text in locked.items() if name not in ours]
        found.write_text("".join(kept), encoding="utf-8")
        named = re.findall(r"^[a-z0-9-]+$", wanted.read_text(encoding="utf-8"), re.MULTILINE)
        pins = [f"{name}=={version}\n" for name, version in locked if name in named]
        tools.write_text("".join(pins), encoding="utf-8")
        options = ("--quiet", "--no-header", "--no-annotate", "--generate-hashes", "--python-version", "3.11")
        command = [find_uv_bin(), "pip", "compile", *options, "--resolution", "lowest-direct"]
        subprocess.run(
            [*command, "--constraint", tools, "--output-file", found, wanted],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        every = entries(found.read_text(encoding="utf-8"))
    return "".join(text for key, text in every.items() if key not in locked)


def main() -> int:
    """Write the lock of each distribution."""
    ours = asked_for()
    for wanted in sorted(LOWEST.glob("*.in")):
        wanted.with_suffix(".lock").write_text(resolved(wanted, ours), encoding="utf-8")
        print(wanted.stem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
