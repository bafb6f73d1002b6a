"""The checks before a release, as a program: `make release`.

It builds the sources and the wheel of each distribution twice, compares the bytes, checks what a package index would
show, and lists what is left to a person. It uploads nothing.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("aiopravega", "pravega_emulator", "pravega_jobs", "pyspark_pravega", "providers/pravega", "dagster_pravega")
DIST = ROOT / "dist"
LEFT = """
Left to a person:
  1. .ci/run has passed on this commit, and make proofs, make faults, make matrix, make pythons (with all Pythons)
     and make audit; make sbom has made build/sbom.json.
  2. CHANGELOG.md: the lines under Unreleased get the version and the date.
  3. The packages are on an index then: `make wheels` and `--find-links` go from README.md of each distribution, from
     docs/how-to/install.md and from the tutorials, with tests/unit/house/test_install.py.
  4. git tag v{version}; upload dist/*.whl and dist/*.tar.gz with twine; make a release of the tag with the lines of
     the CHANGELOG.
"""


def run(*command: str | Path, **environment: str) -> str:
    """Run a command in the repository; a failure ends the release."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> dict[str, str]:
    """Build all distributions into a folder; the SHA-256 of each file."""
    # The time of the commit, not of the build: so that both builds, and those of others, have the same bytes.
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    for project in FOLDERS:
        options = ("--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
        run(find_uv_bin(), "build", *options, ROOT / project, SOURCE_DATE_EPOCH=epoch)
    found = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in found}


def versions() -> set[str]:
    """The versions of all distributions."""
    pattern = re.compile(r'^version = "(.+)"', re.MULTILINE)
    return {
        found[1] for project in FOLDERS if (found := pattern.search((ROOT / project / "pyproject.toml").read_text()))
    }


def main() -> int:
    """Build, compare, check."""
    if len(versions()) != 1:
        sys.exit(f"the distributions have several versions: {', '.join(sorted(versions()))}")
    if changed := run("git", "status", "--porcelain"):
        print(f"not committed, but built:\n{changed}")
    DIST.mkdir(exist_ok=True)
    for file in [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]:
        file.unlink()
    first = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        second = build(Path(folder))
    if different := sorted(name for name in first if first[name] != second.get(name)):
        sys.exit(f"two builds have different bytes: {', '.join(different)}")
    print(run(sys.executable, "-m", "twine", "check", "--strict", *(DIST / name for name in first)))
    for name, digest in first.items():
        print(f"{digest}  dist/{name}")
    print(LEFT.format(version=versions().pop()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
