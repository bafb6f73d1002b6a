"""A new kind of table in one module: a folder with a file of lines for each interval."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa

from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import Holding, Landed, Landing, Standing, decide
from pravega_jobs.landing.table_kind import LandingTable, TableKind


@dataclass(frozen=True, slots=True)
class LinesTable(LandingTable, Standing):
    """The table. The first line of a file is the holding of its interval, so that it goes where the lines go."""

    path: Path

    def location(self) -> str:
        return f"lines:{self.path.resolve()}"

    def identity(self) -> str:
        return self.location()

    @contextmanager
    def standing(self) -> Iterator[Standing]:
        yield self

    def notes(self) -> list[Holding]:
        return [Holding.from_json(lines[0]) for lines in self._files()]

    def note(self, landing: Landing) -> Holding | None:
        return next((each for each in self.notes() if each.identity == landing.interval), None)

    def counts(self, note: Holding) -> bool:
        return True

    def rows_of(self, landing: Landing) -> int:
        return self.rows()[landing.interval.consumer, landing.interval.name]

    def columns(self) -> None:
        """None: a line has the columns of its row."""

    def rows(self) -> dict[tuple[str, str], int]:
        return {
            (each.consumer, each.interval): len(lines) - 1
            for each, lines in zip(self.notes(), self._files(), strict=True)
        }

    def read(self, holding: Holding, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        [lines] = (each for each in self._files() if Holding.from_json(each[0]) == holding)
        yield pa.RecordBatch.from_pylist([json.loads(each) for each in lines[1:]], columns)

    @contextmanager
    def staged(self, rows: Rows, landing: Landing) -> Iterator[Sequence[str]]:
        with TemporaryDirectory() as folder:
            written = rows.write_files(landing, FolderLocation(Path(folder) / "rows"), {})
            yield [json.dumps(row) for batch in written.batches() for row in batch.to_pylist()]

    def commit(self, staged: Sequence[str], landing: Landing) -> Landed:
        action, held = decide(self, landing)
        if held is not None:
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
