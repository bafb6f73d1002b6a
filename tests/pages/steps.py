"""The steps of a page for readers who do what it says: commands, files that they save, and Python that they type.

Tests run them (`tests/system/test_tutorials.py`), and so do walks (`tests/walks`), which install what a page installs.
"""

import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

# The last section of a tutorial: what replaces the emulator.
OWN: Final = "On your own Pravega"
_BLOCK: Final = re.compile(
    r"^## (?P<heading>[^\n]+)$"
    r"|(?:Save this as `(?P<file>\S+)`[^\n]*\n\n)?^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        text: a command with all its lines; the text of a file; or Python.
        file: where the text is saved; None for what is typed.
        python: it is typed into Python.
        section: the heading above it; empty before the first.
    """

    text: str
    file: PurePosixPath | None
    python: bool
    section: str


def steps_of(page: str) -> list[Step]:
    """The steps of a page's text, in its order. YAML, drawings and tables are none."""
    found, section = [], ""
    for match in _BLOCK.finditer(page):
        text, language = textwrap.dedent(match["text"] or ""), match["language"]
        if match["heading"]:
            section = match["heading"]
        elif match["file"]:
            found.append(Step(text, PurePosixPath(match["file"]), python=False, section=section))
        elif language == "python":
            found.append(Step(text, None, python=True, section=section))
        elif language in ("", "bash", "sh"):
            found += [Step(command, None, python=False, section=section) for command in commands_of(text)]
    return found


def commands_of(text: str) -> list[str]:
    """The commands of a block, each with all its lines.

    Raises:
        ValueError: the last one has no end.
    """
    found, lines = [], ""
    for line in text.splitlines(keepends=True):
        lines += line
        parsed = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, timeout=60, check=False)
        # A document that has no end yet is a warning.
        if parsed.returncode == 0 and not parsed.stderr and not lines.endswith("\\\n"):
            found.append(lines.strip())
            lines = ""
    if lines:
        raise ValueError(f"a command that has no end: {lines}")
    return [command for command in found if command]
