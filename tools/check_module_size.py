"""Fail when a module is long without a reason.

A module is one idea; past 300 lines it is usually two. One that must be longer says why in its first lines:
`# long because: …`. Generated stubs are not counted.
"""

import subprocess
import sys
from pathlib import Path

LONGEST = 300  # lines
FIRST_LINES = 10  # where the reason must stand
REASON = "# long because: "
GENERATED = ("_pb2.py", "_pb2_grpc.py")


def complaint(path: Path) -> str | None:
    """What is wrong with the size of one module, or None."""
    lines = path.read_text(encoding="utf-8").splitlines()
    reasons = (line.partition(REASON)[2].strip() for line in lines[:FIRST_LINES])
    if len(lines) <= LONGEST or any(reasons):
        return None
    return f"{path}: {len(lines)} lines; split it, or say why in its first lines: {REASON}…"


def main() -> int:
    """Check every Python file that git knows or would add."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    paths = [Path(name) for name in names if not name.endswith(GENERATED) and Path(name).exists()]
    complaints = [text for path in paths if (text := complaint(path))]
    print("\n".join(complaints) or f"{len(paths)} modules of at most {LONGEST} lines, or with a reason")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
