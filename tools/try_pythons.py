"""Install each distribution from its wheel into an empty environment of several Pythons, and run its smallest program.

python -m tools.try_pythons python3.11 python3.13 /opt/python3.14/bin/python

The first environment of a Python has the emulator, which starts the Pravega for the others. The result is a table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.release import FOLDERS, ROOT
from uv import find_uv_bin

SMALLEST: Final = Path(__file__).with_name("smallest")
# What is installed, and the program; a distribution without one is shown by the server that it starts.
PROGRAMS: Final = {
    "aiopravega": "aiopravega.py",
    "pyspark-pravega": "pyspark_pravega.py",
    "airflow-provider-pravega": "airflow_pravega.py",
    "dagster-pravega": "dagster_pravega.py",
}
EMULATOR: Final = "pravega-emulator"
LIMIT: Final = 900  # seconds for a command
# A program knows nothing of the caller's environment, but where Java and its jars are.
KEPT: Final = ("PATH", "JAVA_HOME", "LANG", "XDG_CACHE_HOME", "HOME")


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a command; returns what it printed, or raises `SystemExit` with all that it said."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def made(python: str, requirement: str, wheels: Path, folder: Path) -> Path:
    """An environment of a Python with one distribution and what it asks for; its Python."""
    uv = [find_uv_bin(), "--quiet"]
    subprocess.run([*uv, "venv", "--python", python, folder], check=True, timeout=LIMIT)
    inside = folder / "bin" / "python"
    locked: list[str | Path] = ["--constraint", ROOT / "requirements.lock", "--find-links", wheels]
    subprocess.run([*uv, "pip", "install", "--python", inside, *locked, requirement], check=True, timeout=LIMIT)
    return inside


def outcome(name: str, python: Path, folder: Path, **environment: str) -> str:
    """The outcome of a distribution's smallest program; its error goes to standard error."""
    try:
        run(python, "-I", SMALLEST / PROGRAMS[name], cwd=folder, AIRFLOW_HOME=str(folder), **environment)
    except SystemExit as error:
        print(error, file=sys.stderr)
        return "fails"
    return "runs"


def tried(python: str, wheels: Path) -> tuple[str, dict[str, str]]:
    """The version of a Python, and what each distribution did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        emulator = made(python, EMULATOR, wheels, folder / EMULATOR).with_name(EMULATOR)
        version = run(emulator.with_name("python"), "-c", "import platform; print(platform.python_version())").strip()
        run(emulator, "up", "--detach", "--name", f"try-{version}")
        try:
            text = run(emulator, "status", "--export", "--name", f"try-{version}")
            exported = dict(line.removeprefix("export ").split("=", 1) for line in text.splitlines())
            results = {EMULATOR: "runs"}
            for each in PROGRAMS:
                inside = made(python, each, wheels, folder / each)
                controller = exported["PRAVEGA_CONTROLLER_URI"].strip("'\"")
                results[each] = outcome(
                    each, inside, folder, PRAVEGA_CONTROLLER_URI=controller, PYSPARK_PYTHON=str(inside)
                )
                print(f"Python {version}: {each} {results[each]}", file=sys.stderr, flush=True)
        finally:
            run(emulator, "down", "--name", f"try-{version}")
    return version, results


def main() -> int:
    """Build the wheels, try all Pythons, print the table; the exit status is 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="+", help="a command or path")
    pythons: list[str] = parser.parse_args().python
    with tempfile.TemporaryDirectory() as name:
        wheels = Path(name)
        for project in FOLDERS:
            options = ("--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", wheels)
            run(find_uv_bin(), "build", "--wheel", *options, ROOT / project)
        found = dict(tried(python, wheels) for python in pythons)
    print(f"| distribution | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
    for distribution in (EMULATOR, *PROGRAMS):
        print(f"| `{distribution}` | {' | '.join(results[distribution] for results in found.values())} |")
    return int(any("fails" in results.values() for results in found.values()))


if __name__ == "__main__":
    sys.exit(main())
