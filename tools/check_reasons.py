"""Fail when a line silences a tool without saying why.

The reason stands on the same line, after the code of what is silenced:
`# noqa: B023 - called before the loop continues`, `# type: ignore[call-arg]  # pydantic reads the environment`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_REASON = r"#\s*(noqa(:[\sA-Z0-9,]*)?|type:\s*ignore(\[[^\]]*\])?)\s*$"


def main() -> int:
    """Check every module that git knows or would add."""
    search = ["git", "grep", "-nP", "--untracked", "-e", WITHOUT_REASON, "--", "*.py", ":!*_pb2.py", ":!*_pb2_grpc.py"]
    found = subprocess.run(search, check=False, capture_output=True, text=True, cwd=ROOT)
    print(found.stderr or found.stdout or "every silenced line says why")
    return 1 if found.stderr or found.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
