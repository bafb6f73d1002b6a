"""The stored results of the fault matrix, of the soak and of the kills of hosts, and their tables in the docs.

`python -m tests.faults.report` writes the tables from what is stored; with --check it fails when they are stale.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.case import ONCE, Case, Result
from tests.faults.hosts import found as kills
from tests.faults.matrix import ROUNDS
from tests.faults.points import POINTS
from tests.faults.rounds import Round

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation"
STORE, SOAK, KILLS = (_DOCS / f"{name}.json" for name in ("fault-matrix", "soak", "host-kills"))
PAGE = _DOCS.parent / "evidence" / "exactly-once.md"
_COLUMNS = ("#", "dies", "when", "job", "seed", "first run", "last run", "rows", "lost", "doubled", "disordered")
_SOAK_COLUMNS = ("rounds", "writes", "queries", "kills", "rows")  # and the errors that were right answers, by name
MATRIX = ("<!-- written by make faults -->\n", "<!-- end of the fault matrix -->\n")
KILLED = ("<!-- written by make host-kills -->\n", "<!-- end of the kills -->\n")
SOAKED = ("<!-- written by make soak -->\n", "<!-- end of the soak -->\n")


@dataclass
class Soak:
    """A soak in which each row came once: for each fault, how many rounds, writes, queries, runs and rows it met.

    The runs are those of hosts that were killed.

    The other counts are of writes that were refused, by the name of the error.
    """

    seed: int
    minutes: float = 0.0
    faults: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def store(at: Round, results: dict[str, Result]) -> None:
    """Keep the results of cases of a round, instead of earlier ones."""
    stored = _stored()
    earlier = stored.get(at.name, {"cases": {}})["cases"]
    stored[at.name] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cases": earlier | {name: asdict(result) for name, result in results.items()},
    }
    STORE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    return found


def host(case: Case) -> str:
    """The point at which a case's fault strikes, in words."""
    times = {1: "", 2: " the 2nd time", 3: " the 3rd time"}.get(case.nth, f" the {case.nth}th time")
    return f"{case.side}: {POINTS[case.point].words}{times}"


def _row(number: int, at: Round, case: Case, result: dict[str, Any]) -> str:
    missing = f"{result['lost']} withheld" if case.withholds else result["lost"]
    cells = [
        number,
        case.words or at.words,
        host(case),
        case.kind,
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
    exact = [result for _, case, result in found if not case.withholds]
    stopped = Counter(case.ending for _, case, _ in found if case.ending != ONCE)
    streaming = sum(case.streaming for _, case, _ in found)
    yield f"{len(found)} cases have run, {len(found) - streaming} of batch jobs and {streaming} of streaming queries."
    yield (
        f"In {len(exact)} every row is to be there once: of {sum(result['events'] for result in exact):,} rows, "
        f"{sum(result['lost'] for result in exact)} were lost and "
        f"{sum(result['doubled'] + result['strange'] for result in exact)} doubled, and "
        f"{sum(result['disordered'] for result in exact)} keys were out of order."
    )
    for error, count in stopped.items():
        yield f"In {count} the last run is to stop with `{error}`."
    yield ""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|---" * len(_COLUMNS) + "|"
    for number, (at, case, result) in enumerate(found, 1):
        yield _row(number, at, case, result)


def store_soak(found: Soak) -> None:
    """Keep the summary of a soak, instead of the earlier one."""
    stored = {"seed": found.seed, "minutes": found.minutes, "faults": found.faults}
    SOAK.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    main()


def soak_lines(found: Soak) -> Iterator[str]:
    """The summary of a soak."""
    total = sum(found.faults.values(), Counter[str]())
    yield (
        f"`make soak ARGS='--seed {found.seed}'` ran for {found.minutes:g} minutes: {total['rounds']} rounds with "
        f"{total['writes']} batch writes, {total['queries']} streaming queries and {total['kills']} killed runs of "
        "hosts,"
    )
    yield f"{total['rows']:,} rows: 0 lost, 0 doubled, 0 keys out of order. No run ended well with rows missing."
    yield f"Refused, as is right: {_refused(total) or 'none'}; of these no row was doubled."
    yield ""
    yield f"| fault | {' | '.join(_SOAK_COLUMNS)} | refused |"
    yield "|---" * (len(_SOAK_COLUMNS) + 2) + "|"
    for name, counts in found.faults.items():
        cells = [name, *(counts[column] for column in _SOAK_COLUMNS), _refused(counts)]
        yield f"| {' | '.join(map(str, cells))} |"


def _refused(counts: Counter[str]) -> str:
    return ", ".join(f"{times} {name}" for name, times in counts.items() if name not in _SOAK_COLUMNS)


def _stored_soak() -> Iterator[str]:
    if SOAK.exists():
        stored = json.loads(SOAK.read_text(encoding="utf-8"))
        faults = {name: Counter(counts) for name, counts in stored["faults"].items()}
        yield from soak_lines(Soak(stored["seed"], stored["minutes"], faults))


def store_kills(table: kills.Table) -> None:
    """Keep rows of the table of kills of hosts, instead of earlier ones."""
    KILLS.write_text(json.dumps(_kills() | kills.stored(table), indent=1) + "\n", encoding="utf-8")
    main()


def _kills() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KILLS.read_text(encoding="utf-8")) if KILLS.exists() else {}
    return found


def _stored_kills() -> Iterator[str]:
    if KILLS.exists():
        yield from kills.lines(kills.restored(_kills()))


def _filled(text: str, marks: tuple[str, str], lines: Iterable[str]) -> str:
    begin, end = marks
    before, _, rest = text.partition(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def main(*arguments: str) -> int:
    """Bring the tables up to date, or with --check say whether they are."""
    text = PAGE.read_text(encoding="utf-8")
    fresh = text
    for marks, lines in ((MATRIX, table()), (SOAKED, _stored_soak()), (KILLED, _stored_kills())):
        fresh = _filled(fresh, marks, lines)
    if "--check" in arguments:
        if fresh != text:
            print(f"{PAGE.name}: a table of faults is stale; run python -m tests.faults.report")
        return int(fresh != text)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
