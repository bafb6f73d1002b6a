"""Fuzz everything that reads bytes of others, one target after the other, and print a table of what was found.

python -m tests.fuzz --minutes 60
python -m tests.fuzz --minutes 5 --only "Avro columns"

What was found is in build/fuzz: `finding-…` is an input that ended a target, and the corpora are used again.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz.targets import TARGETS

FOLDER: Final = Path("build/fuzz")
# Of one input: libFuzzer ends a target that takes longer, or more memory.
SECONDS_OF_ONE: Final = 30
MEGABYTES: Final = 2048
# Longer inputs are made of what shorter ones show.
LONGEST: Final = 16 * 1024
# A process also has to start, and to read its corpus.
GRACE: Final = 600
_DONE: Final = re.compile(r"Done (\d+) runs")
_COVERED: Final = re.compile(r"cov: (\d+)")


@dataclass(frozen=True)
class Result:
    """The result of a target: inputs that it has read, branches of the code that they reached, and its error."""

    runs: int
    covered: int
    finding: str | None


def fuzz(name: str, seconds: int) -> Result:
    """Fuzz one target for some seconds."""
    plain = re.sub(r"\W+", "-", name)
    corpus = FOLDER / plain
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name]().seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    limits = {"max_total_time": seconds, "timeout": SECONDS_OF_ONE, "rss_limit_mb": MEGABYTES, "max_len": LONGEST}
    arguments = [f"-{option}={value}" for option, value in limits.items()]
    arguments.append(f"-artifact_prefix={FOLDER}/finding-{plain}-")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.one", name, str(corpus), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds + GRACE,
        check=False,
    )
    runs, covered = _DONE.search(done.stderr), _COVERED.findall(done.stderr)
    finding = None if done.returncode == 0 and runs else (done.stdout + done.stderr)[-3000:]
    return Result(int(runs[1]) if runs else 0, int(covered[-1]) if covered else 0, finding)


def main() -> int:
    """Fuzz; the exit status is 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15, help="for all targets together")
    parser.add_argument("--only", action="append", choices=TARGETS, help="a target; may be given several times")
    given = parser.parse_args()
    names = given.only or list(TARGETS)
    seconds = max(1, int(given.minutes * 60 / len(names)))
    print("| target | seconds | inputs | branches reached | found |\n|---|---:|---:|---:|---|")
    findings = []
    for name in names:
        result = fuzz(name, seconds)
        print(
            f"| {name} | {seconds} | {result.runs:,} | {result.covered:,} | {'see below' if result.finding else ''} |",
            flush=True,
        )
        if result.finding:
            findings.append((name, result.finding))
    for name, finding in findings:
        print(f"\n--- {name} ---\n{finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
