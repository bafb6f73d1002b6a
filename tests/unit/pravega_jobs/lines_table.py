"""A new kind of table in one module: a folder with a file of lines for each interval."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pravega_jobs.landing.rules import Action, Holding, Landed, Landing, decide
from pravega_jobs.landing.table_kind import TableKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class LinesTable:
    """The table. The first line of a file is the holding of its interval."""

    path: Path

    def holdings(self) -> list[Holding]:
        return [Holding.from_json(lines[0]) for lines in self._files()]

    def held(self, landing: Landing) -> Holding | None:
        return next((each for each in self.holdings() if each.identity == landing.interval), None)

    def rows(self) -> dict[tuple[str, str], int]:
        return {
            (each.consumer, each.interval): len(lines) - 1
            for each, lines in zip(self.holdings(), self._files(), strict=True)
        }

    @contextmanager
    def staged(self, frame: "DataFrame", landing: Landing) -> Iterator[Sequence[str]]:
        yield [json.dumps(row.asDict()) for row in frame.collect()]

    def commit(self, staged: Sequence[str], landing: Landing) -> Landed:
        held = self.held(landing)
        action = decide(held, landing)
        if held is not None and action is Action.NOTHING:
            return Landed(action, held)
        holding = Holding.of(landing, len(staged))
        self.path.mkdir(exist_ok=True)
        lines = [holding.to_json(), *(line.encode() for line in staged)]
        (self.path / f"{landing.interval.name}.lines").write_bytes(b"\n".join(lines))
        return Landed(action, holding)

    def _files(self) -> list[list[bytes]]:
        return [file.read_bytes().split(b"\n") for file in sorted(self.path.glob("*.lines"))]


KIND: Final = TableKind(
    title="Lines",
    words=("lines",),
    form="lines:/folder",
    parse=lambda text: LinesTable(Path(text.partition(":")[2])),
    table_class=LinesTable,
    icon="json",
    names_folder=True,
)
