"""Fail when a module is long without a reason.

A module is one idea; past 300 lines it is usually two. One that must be longer says why in its first lines:
`# long because: …`. Generated stubs are not counted.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 300  # lines
FIRST_LINES = 10  # where the reason must stand
REASON = "# long because: "
GENERATED = ("_pb2.py", "_pb2_grpc.py")


def is_fine(lines: list[str]) -> bool:
    """Whether a module is short enough, or says why it is not."""
    return len(lines) <= LONGEST or any(line.partition(REASON)[2].strip() for line in lines[:FIRST_LINES])


def main() -> int:
    """Check every module that git knows or would add."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    paths = [ROOT / name for name in names if not name.endswith(GENERATED) and (ROOT / name).exists()]
    modules = {path.relative_to(ROOT): path.read_text(encoding="utf-8").splitlines() for path in paths}
    long = {path: len(lines) for path, lines in modules.items() if not is_fine(lines)}
    for path, length in long.items():
        print(f"{path}: {length} lines; split it, or say why in its first lines: {REASON}…")
    print(f"{len(modules)} modules, {len(long)} too long without a reason")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
