"""The tutorials do what they say: their commands and their Python run, from the first block to the last.

What is installed is left out, and what runs until somebody stops it: the server, which is that of the tests, and the
pages of Airflow and Dagster, whose real processes `tests/system/airflow` and `tests/system/dagster` run.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pravega_emulator.server import PravegaServer

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
# That of a database needs more than `make setup` brings: tests/system/cdc runs it.
TUTORIALS = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "first-table.md"})
SLOW = {"first-dag"}  # it makes Airflow's database
LIMIT = 800  # seconds, on a machine five times slower
BLOCK = re.compile(
    r"(?:Save this as `(?P<file>\S+)`[^\n]*\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
# The environment is that of the tests; that on a reader's own Pravega is an example.
LEFT_OUT = ("-m venv", "pip install", "pravega-emulator", "airflow standalone", "dagster dev", "export PRAVEGA_")
INTERPRETER = ".venv/bin/python"


def commands(page: str) -> str:
    """A script for bash: what a reader types, and saves, one after the other; what is typed into Python is one file."""
    blocks = [match.groupdict() for match in BLOCK.finditer(page)]
    typed = [each for each in blocks if each["kind"] == "python" and not each["file"]]
    lines = ["set -euo pipefail"]
    for each in blocks:
        if each["file"]:
            lines.append(f"mkdir -p {Path(each['file']).parent}; cat > {each['file']} <<'END'\n{each['text']}END")
        elif each["kind"] == "":
            wanted = (line for line in each["text"].splitlines() if not line.endswith(INTERPRETER))
            lines += [line for line in wanted if not any(word in line for word in LEFT_OUT)]
        elif each is typed[-1]:
            session = "\n".join(block["text"] for block in typed)
            folders = ":".join(str(Path(block["file"]).parent) for block in blocks if block["file"])
            lines.append(f"cat > session.py <<'END'\n{session}END\nPYTHONPATH={folders} {INTERPRETER} session.py")
    return "\n".join(lines)


@pytest.mark.timeout(LIMIT + 100)
@pytest.mark.parametrize(
    "tutorial",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in TUTORIALS],
)
def test_a_tutorial_runs(tutorial: Path, pravega_emulator: PravegaServer, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DAGSTER"))}
    done = subprocess.run(
        ["bash", "-c", commands(tutorial.read_text(encoding="utf-8"))],
        cwd=tmp_path,
        env={**environment, "PRAVEGA_CONTROLLER_URI": pravega_emulator.config.controller_uri},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(done.args[:2])}: {done.stdout}\n{done.stderr}"
    assert tutorial.stem != "first-dag" or "DagRun Finished" in done.stdout + done.stderr
