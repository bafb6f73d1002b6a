"""The tutorials do what they say: their Python runs, from the first block to the last, against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pravega_emulator.server import PravegaServer

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
LIMIT = 120  # seconds


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(tutorial: Path, pravega_emulator: PravegaServer, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", tutorial.read_text(), flags=re.MULTILINE | re.DOTALL)
    script = tmp_path / f"{tutorial.stem}.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_emulator.config.controller_uri},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
