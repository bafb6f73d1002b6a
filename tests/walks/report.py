"""The results in docs/evidence/walks.md, from what walks have left in build/walks; the rest is written by hand."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.walks.walk import EMULATOR, SECURED, Report

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "walks"
PAGE: Final = ROOT / "docs" / "evidence" / "walks.md"
_SLOWEST: Final = 3
# What somebody noted who did the same by hand, before there were walks.
_BEFORE: Final = {
    ("first-dag", EMULATOR): "not measured; the first command failed, and the second run waited for six hours",
    ("first-asset", EMULATOR): "not measured; the first command failed",
    ("first-spark-job", EMULATOR): "not measured; the first command failed",
    ("first-dag", SECURED): "not measured; the program that writes went to localhost",
}
_RESULTS: Final = "## Minutes and stumbles\n"


def keep(walk: str, reports: Iterable[Report]) -> None:
    """Keep how a walk went, for the page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{walk}.json").write_text(json.dumps([asdict(report) for report in reports], indent=1))


def store(about: str) -> None:
    """Write the results of all walks that were kept; `about` says when and where they went."""
    kept = [Report(**each) for file in sorted(FOLDER.glob("*.json")) for each in json.loads(file.read_text())]
    lines = [about, "", *_table("walk", "on", "minutes", "stumbles", "before")]
    for report in kept:
        minutes = sum(seconds for _, seconds in report.steps) / 60
        before = _BEFORE.get((report.name, report.cluster), "not measured")
        lines.append(_row(report.name, report.cluster, f"{minutes:.1f}", str(len(report.stumbles)), before))
    lines += ["", "## The slowest steps", *_table("walk", "on", "seconds", "step")]
    for report in kept:
        slowest = sorted(report.steps, key=lambda step: -step[1])[:_SLOWEST]
        lines += [_row(report.name, report.cluster, f"{seconds:.0f}", _code(label)) for label, seconds in slowest]
    if stumbles := [(report, *stumble) for report in kept for stumble in report.stumbles]:
        lines += ["", "## Stumbles", *_table("walk", "on", "step", "what was said")]
        lines += [_row(each.name, each.cluster, _code(step), _code(said)) for each, step, said in stumbles]
    head = PAGE.read_text(encoding="utf-8").partition(_RESULTS)[0]
    PAGE.write_text(head + _RESULTS + "\n".join(lines) + "\n", encoding="utf-8")


def _table(*columns: str) -> list[str]:
    return [_row(*columns), "|---" * len(columns) + "|"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{text.replace('|', '/').replace('`', '')}`"
