"""All checks in one run: each runs, whatever the others find, two at a time; the last line names those that failed.

- all: `python -m tools.check`
- two of them: `python -m tools.check words ruff`
- mend what tools can mend: `python -m tools.check --fix`
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PYTHON = sys.executable
AT_A_TIME = 2  # each uses one core
# The slowest first, so that none of them runs alone at the end.
CHECKS: dict[str, list[list[str]]] = {
    "mypy": [[f"{BIN}/mypy"]],
    "site": [[PYTHON, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", "build/site-trees", "docs", "build/site"]],
    "reference": [[PYTHON, "-m", "tools.write_reference", "--check"]],
    "contracts": [[f"{BIN}/lint-imports", "--no-logo", "--no-cache"]],
    "faults": [[PYTHON, "-m", "tests.faults.report", "--check"]],
    "ruff": [[f"{BIN}/ruff", "check", "--quiet", "."], [f"{BIN}/ruff", "format", "--quiet", "--check", "--diff", "."]],
    # Each tool `check_*.py` is a check.
    **{path.stem.removeprefix("check_"): [[PYTHON, str(path)]] for path in sorted(ROOT.glob("tools/check_*.py"))},
}
# They write files that others read, so they run one after another.
FIXES = [
    [f"{BIN}/ruff", "check", "--quiet", "--fix-only", "."],
    [f"{BIN}/ruff", "format", "."],
    [PYTHON, "-m", "tools.write_reference"],
    [PYTHON, "-m", "tests.faults.report"],
    [PYTHON, "tools/check_words.py", "--fix"],
]


class Outcome(NamedTuple):
    """The end of a check: its output, whether it passed, and how many seconds it took."""

    name: str
    output: str
    passed: bool
    seconds: float


def run(name: str, commands: list[list[str]]) -> Outcome:
    """Run all commands of a check, also after one that failed."""
    start = time.monotonic()
    ended = [
        subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, check=False)
        for command in commands
    ]
    output = "".join(each.stdout for each in ended)
    return Outcome(name, output, not any(each.returncode for each in ended), time.monotonic() - start)


def run_all(checks: dict[str, list[list[str]]]) -> Iterator[Outcome]:
    """Run checks side by side, and yield each as it ends. An interrupt stops those that have not begun."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        running = [pool.submit(run, name, commands) for name, commands in checks.items()]
        try:
            for each in as_completed(running):
                yield each.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def fix(commands: list[list[str]]) -> int:
    """Run all tools that mend, also after one that failed; return the exit status."""
    return max(subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands)


def check(checks: dict[str, list[list[str]]], show: Callable[[str], object] = print) -> int:
    """Show each check with its output, and name those that failed on the last line; return the exit status."""
    failed = []
    for each in run_all(checks):
        head = f"== {each.name} ({'passed' if each.passed else 'FAILED'}, {each.seconds:.0f} s)"
        show(f"{head}\n{each.output}".rstrip())
        if not each.passed:
            failed.append(each.name)
    in_order = [name for name in checks if name in failed]
    show(f"failed: {', '.join(in_order)}" if failed else f"passed: {', '.join(checks)}")
    return 1 if failed else 0


def main() -> int:
    """Run all checks, or those that are named, or mend."""
    parser = argparse.ArgumentParser(description="Run all checks, or those that are named.")
    parser.add_argument("names", nargs="*", metavar="check", help=f"one of: {', '.join(CHECKS)}; by default all")
    parser.add_argument("--fix", action="store_true", help="mend what tools can mend, and check nothing")
    options = parser.parse_args()
    if unknown := set(options.names) - CHECKS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    if options.fix:
        return fix(FIXES)
    return check({name: CHECKS[name] for name in options.names or CHECKS}, lambda text: print(text, flush=True))


if __name__ == "__main__":
    sys.exit(main())
