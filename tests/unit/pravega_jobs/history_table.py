"""A table that keeps every version of a row, and the changes that are merged into it: files in a folder, no format."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import Interval
from pravega_jobs.landing import Landing
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.staged_files import StagedFiles
from pravega_jobs.merging import Counts, Merge, MergeRules
from pravega_jobs.merging.columns import columns_for
from pravega_jobs.merging.engine.chunks import chunks
from pravega_jobs.merging.engine.history import merging_for
from pravega_jobs.merging.engine.table_files import DataFile

STREAM = StreamName("shop", "inv.public.orders")
CUTS = StreamCutRange(*(StreamCut(STREAM, {SegmentId(STREAM, 0, 0): each}) for each in (0, 10)))
LANDING = Landing(Interval("merger", STREAM, "monday"), CUTS)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STAGED = pa.schema(
    [
        ("id", pa.int32()),
        ("part", pa.string()),
        ("n", pa.float64()),
        ("big", pa.string()),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("_change_type", pa.string()),
        ("_sequence", pa.binary()),
        ("_unchanged", pa.list_(pa.field("element", pa.string()))),
        ("_source_ts", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True)
class Change:
    """A change of a row; `big` is `...` if it was not sent."""

    id: int
    kind: str
    at: int
    time: int
    n: float | None = None
    big: Any = None
    part: str = "a"

    def staged(self) -> dict[str, Any]:
        """As Spark stages it."""
        is_delete = self.kind == "delete"
        return {
            "id": self.id,
            "part": self.part,
            "n": None if is_delete else self.n,
            "big": None if is_delete or self.big is ... else self.big,
            "tags": None if is_delete or self.n is None else [str(self.n)],
            "_change_type": self.kind,
            "_sequence": position(self.at),
            "_unchanged": ["big"] if self.big is ... else [],
            "_source_ts": EPOCH + timedelta(seconds=self.time),
        }


def position(at: int) -> bytes:
    return at.to_bytes(8, "big")


@dataclass(frozen=True)
class Stored:
    """A file that is in the table."""

    rows: pa.Table
    bounds: tuple[Any, Any] | None = None

    def read(self, schema: pa.Schema) -> pa.Table:
        return self.rows.select(schema.names)

    def pieces(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The same, a row at a time."""
        rows = self.read(schema)
        yield from (rows.slice(number, 1) for number in range(rows.num_rows))


class Table:
    """A table with a history, whose new files are written into a folder."""

    def __init__(self, folder: Path, *, split: Split | None = None, **rules: Any) -> None:
        self.folder, self.files, self.split = folder, list[DataFile](), split
        self.merge = Merge(LANDING, MergeRules.of(("id", "part"), history="scd2", **rules))
        self.schema = columns_for(STAGED, self.merge)

    def take(self, *parts: Sequence[Change] | pa.Table, size: int = 1) -> Counts:
        """Merge a range that Spark has staged in some files."""
        with tempfile.TemporaryDirectory(dir=self.folder) as staged:
            for number, part in enumerate(parts):
                rows = part if isinstance(part, pa.Table) else pa.Table.from_pylist([c.staged() for c in part], STAGED)
                parquet.write_table(rows, f"{staged}/part-{number:03}.parquet")
            merging = merging_for(self.merge, self.schema, self.folder / "files", self.files, self.split)
            merging.apply_all(chunks(StagedFiles.found_in(Path(staged)), self.schema, self.merge, size))
        self.files = [
            *(each for each in self.files if all(each is not gone for gone in merging.removed)),
            *(Stored(each.read(self.schema), each.bounds) for each in merging.added),
        ]
        return merging.counts

    def rows(self) -> list[dict[str, Any]]:
        return [row for file in self.files for row in file.read(self.schema).to_pylist()]

    def versions(self) -> list[dict[str, Any]]:
        found = []
        for row in self.rows():
            assert row["_current"] == (row["_valid_to"] is None) == (row["_end_sequence"] is None)
            assert row["tags"] == (None if row["n"] is None else [str(row["n"])])
            times = [row[name] and (row[name] - EPOCH) // timedelta(seconds=1) for name in ("_valid_from", "_valid_to")]
            at, end = (row[name] and int.from_bytes(row[name], "big") for name in ("_sequence", "_end_sequence"))
            mine = {"key": (row["id"], row["part"]), "n": row["n"], "big": row["big"], "at": at, "end": end}
            found.append(mine | {"from": times[0], "to": times[1]})
        return sorted(found, key=lambda each: each["at"])
