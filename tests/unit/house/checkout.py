"""A small git repository with the checks of this one."""

import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[3] / "tools"
PRODUCT = "client/src/client/module.py"


class Checkout:
    """A small git repository with the checks in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(TOOLS, folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["git", "init", "--quiet", folder], check=True, timeout=60)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, name: str, *arguments: str) -> tuple[bool, str]:
        """True if a check passes, and its output."""
        command: list[str | Path] = [sys.executable, self.folder / "tools" / f"check_{name}.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert not done.stderr
        return done.returncode == 0, done.stdout
