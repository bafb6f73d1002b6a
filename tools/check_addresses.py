"""Fail when a file holds an address that means something on one machine only.

That is an address of a package registry (which one to use is the business of each machine's own settings), the path of
this checkout or the folder around it, and the home of whoever runs the check.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

REGISTRY = r"https?://[\w.-]*(?:maven|pypi|pythonhosted|npmjs|crates)"


def local_folders(checkout: Path) -> set[Path]:
    """Folders of this machine that no file may name."""
    shared = {Path("/"), Path(tempfile.gettempdir()), Path.home().parent}
    return {checkout, checkout.parent, Path.home()} - shared


def main() -> int:
    """Check every text file that git knows or would add."""
    checkout = Path(__file__).resolve().parent.parent
    folders = "|".join(rf"(?<![\w.<]){re.escape(str(folder))}\b" for folder in local_folders(checkout))
    search = ["git", "grep", "-nIP", "--untracked", "-e", f"{REGISTRY}|{folders}"]
    found = subprocess.run(search, check=False, capture_output=True, text=True, cwd=checkout)
    if found.returncode > 1:  # 1 means that nothing was found
        print(found.stderr, file=sys.stderr)
        return found.returncode
    print(found.stdout or "no address of a registry or of this machine")
    return 1 if found.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
