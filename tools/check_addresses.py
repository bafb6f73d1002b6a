"""Fail when a file holds an address that means something on one machine only.

That is an address of a package registry (which one to use is the business of each machine's own settings), the path of
this checkout or the folder around it, and the home of the user who runs the check.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REGISTRY = r"https?://[\w.-]*(?:maven|pypi|pythonhosted|npmjs|crates)"


def local_folders() -> set[Path]:
    """Folders of this machine that no file may name."""
    common = {Path("/"), Path(tempfile.gettempdir()), Path.home().parent}
    return {ROOT, ROOT.parent, Path.home()} - common


def main() -> int:
    """Check every text file that git knows or would add."""
    # Not after a letter or a bracket: </root> is not a path.
    folders = "|".join(rf"(?<![\w.<]){re.escape(str(folder))}\b" for folder in local_folders())
    search = ["git", "grep", "-nIP", "--untracked", "-e", f"{REGISTRY}|{folders}"]
    found = subprocess.run(search, check=False, capture_output=True, text=True, cwd=ROOT)
    print(found.stderr or found.stdout or "no address of a registry or of this machine")
    return 1 if found.stderr or found.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
