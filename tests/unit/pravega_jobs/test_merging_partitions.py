"""Merges of files whose table has partitions: rows that change theirs, and the files that get them."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.history_table import LANDING, Change, Stored, Table, position

from pravega_jobs.landing.splitting import Split
from pravega_jobs.merging import Merge, MergeRules
from pravega_jobs.merging.engine.chunks import Chunk
from pravega_jobs.merging.engine.files import Merging

SCHEMA = pa.schema([("id", pa.int32()), ("part", pa.string()), ("_sequence", pa.binary())])


@dataclass(frozen=True)
class ByText:
    """A partition column, in a folder of its own."""

    name: str = "part"

    @property
    def column(self) -> str:
        return self.name

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return column

    def folder(self, value: Any) -> str:
        return f"{self.name}={value}"


def rows(*found: tuple[int, str | None, int]) -> pa.Table:
    plain = [{"id": id_, "part": part, "_sequence": position(at)} for id_, part, at in found]
    return pa.Table.from_pylist(plain, SCHEMA)


def chunk(*found: tuple[int, str | None, int]) -> Chunk:
    values = rows(*found)
    return Chunk(values, {}, {}, pa.array([False] * len(found)).to_numpy(zero_copy_only=False))


@pytest.mark.parametrize("leaves_out", [False, True])
@pytest.mark.parametrize("most_bytes", [1, 2**20])
def test_rows_that_move_are_written_once_with_new_ones(tmp_path, monkeypatch, leaves_out, most_bytes):
    monkeypatch.setattr("pravega_jobs.merging.engine.files.CHUNK_BYTES", most_bytes)
    files = [Stored(rows((1, "a", 1), (2, "a", 1))), Stored(rows((3, "b", 1), (4, "b", 1))), Stored(rows((5, "c", 1)))]
    merge, split = Merge(LANDING, MergeRules.of("id")), Split((ByText(),), leaves_out=leaves_out)
    merging = Merging(merge, SCHEMA, tmp_path, files, split)
    merging.apply_all([chunk((1, "b", 2), (3, None, 2), (6, "b", 2)), chunk((4, "a", 3), (7, "b", 3))])

    assert merging.removed == files[:2]
    found = sorted(
        (file.partition[0], *((row["id"], row["part"]) for row in file.read(SCHEMA).to_pylist()))
        for file in merging.added
        if file.partition[0]
    )
    together = [("b", (1, "b"), (6, "b"))] if most_bytes > 1 else [("b", (1, "b")), ("b", (6, "b"))]
    assert found == [("a", (2, "a")), ("a", (4, "a")), *together, ("b", (7, "b"))]
    assert [file.read(SCHEMA)["id"].to_pylist() for file in merging.added if file.partition == (None,)] == [[3]]
    assert all(file.name.startswith(f"part={file.partition[0]}/") for file in merging.added)
    assert (merging.counts.inserted, merging.counts.updated) == (2, 3)


def test_a_key_of_a_partition_column_keeps_each_version(tmp_path):
    table = Table(tmp_path, split=Split((ByText(), ByText("_current")), leaves_out=True))
    table.take([Change(1, "insert", 1, 1, 1.0, "x"), Change(1, "insert", 2, 2, 2.0, "y", part="b")])
    table.take([Change(1, "update", 3, 3, 3.0, ...), Change(1, "delete", 4, 4, part="b")])
    assert [(each["key"][1], each["n"], each["big"], each["at"], each["end"]) for each in table.versions()] == [
        ("a", 1.0, "x", 1, 3),
        ("b", 2.0, "y", 2, 4),
        ("a", 3.0, "x", 3, None),
    ]
