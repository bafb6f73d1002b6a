"""The results of the fault matrix, stored, and their table in the documentation.

`python -m tests.faults.report` writes the table from what is stored; with --check it fails when the table is stale.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.case import ONCE, Case, Result
from tests.faults.matrix import ROUNDS, Round
from tests.faults.points import POINTS

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation"
STORE, PAGE = _DOCS / "fault-matrix.json", _DOCS / "exactly-once.md"
_COLUMNS = ("#", "dies", "when", "job", "seed", "first run", "last run", "rows", "lost", "doubled", "disordered")
BEGIN, END = "<!-- written by make faults -->\n", "<!-- end of the fault matrix -->\n"


def store(at: Round, results: dict[str, Result]) -> None:
    """Keep the results of a round, in place of earlier ones."""
    stored = _stored()
    stored[at.name] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cases": {name: asdict(result) for name, result in results.items()},
    }
    STORE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    return found


def place(case: Case) -> str:
    """Where a case's fault strikes, in words."""
    times = {1: "", 2: " the 2nd time", 3: " the 3rd time"}.get(case.nth, f" the {case.nth}th time")
    return f"{case.side}: {POINTS[case.point].words}{times}"


def _row(number: int, at: Round, case: Case, result: dict[str, Any]) -> str:
    missing = result["lost"] if case.ending == ONCE else f"{result['lost']} withheld"
    cells = [
        number,
        at.words,
        place(case),
        "streaming" if case.streaming else "batch",
        case.seed,
        result["runs"],
        result["ended"],
        result["events"],
        missing,
        result["doubled"] + result["strange"],
        result["disordered"],
    ]
    return f"| {' | '.join(map(str, cells))} |"


def table() -> Iterator[str]:
    """The lines of the table, of the cases that are both stored and in the matrix."""
    stored = _stored()
    found = [
        (at, case, stored[at.name]["cases"][case.name])
        for at in ROUNDS
        if at.name in stored
        for case in at.cases
        if case.name in stored[at.name]["cases"]
    ]
    exact = [result for _, case, result in found if case.ending == ONCE]
    streaming = sum(case.streaming for _, case, _ in found)
    yield f"{len(found)} cases have run, {len(found) - streaming} of batch jobs and {streaming} of streaming queries."
    yield (
        f"In {len(exact)} every row is to be there once: of {sum(result['events'] for result in exact):,} rows, "
        f"{sum(result['lost'] for result in exact)} were lost and "
        f"{sum(result['doubled'] + result['strange'] for result in exact)} doubled, and "
        f"{sum(result['disordered'] for result in exact)} keys were out of order."
    )
    if len(exact) < len(found):
        yield f"In {len(found) - len(exact)} the job is to stop with `PartialCommitError`."
    yield ""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|---" * len(_COLUMNS) + "|"
    for number, (at, case, result) in enumerate(found, 1):
        yield _row(number, at, case, result)


def main(*arguments: str) -> int:
    """Bring the table up to date, or with --check say whether it is."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    fresh = before + BEGIN + "\n".join(table()) + "\n" + END + after
    if "--check" in arguments:
        if fresh != text:
            print(f"{PAGE.name}: the table of faults is stale; run python -m tests.faults.report")
        return int(fresh != text)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
