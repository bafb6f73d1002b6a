"""Landings into tables of Delta and Iceberg, as Spark and a driver make them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import parquet
from pyiceberg.catalog import load_catalog

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, DeltaFolder, Iceberg, Landed, Landing
from pravega_jobs.landing.staged_files import StagedFiles, new_folder

STREAM = StreamName("shop", "orders")


def landing(name: str = "monday", end: int = 10, generation: int = 1) -> Landing:
    """Of a range of one segment."""
    segment = SegmentId(STREAM, 0, 0)
    cuts = StreamCutRange(StreamCut(STREAM, {segment: 0}), StreamCut(STREAM, {segment: end}))
    return Landing(Interval("it's", STREAM, name), cuts, generation)


@contextmanager
def staged(table: Any, one: Landing, value: int, type_: str = "int32") -> Iterator[StagedFiles]:
    """Two files of three rows in all, as Spark writes them."""
    plain = pa.table({"id": pa.array([value, value, None], type_)})
    is_delta = isinstance(table, DeltaFolder)
    with new_folder(table.notes.work) if is_delta else table.new_staging(plain.schema, one) as folder:
        folder.mkdir()
        for number, rows in enumerate((plain.slice(0, 2), plain.slice(2))):
            names = [one.interval.consumer] * rows.num_rows, [one.interval.name] * rows.num_rows
            whole = rows.append_column("_consumer", [names[0]]).append_column("_interval", [names[1]])
            parquet.write_table(whole, folder / f"part-{number}.parquet")
        yield StagedFiles.found_in(folder)


def land(table: Any, one: Landing, value: int) -> Action:
    with staged(table, one, value) as files:
        landed: Landed = table.commit(files, one)
    return landed.action


def contents(table: Any) -> list[tuple[str, int]]:
    """What any reader finds."""
    if isinstance(table, DeltaFolder):
        if not DeltaTable.is_deltatable(table.path):
            return []
        found = DeltaTable(table.path).to_pyarrow_table()
    else:
        found = table.load().scan().to_arrow()
    return sorted((row["_interval"], row["id"] or 0) for row in found.to_pylist())


def rows(name: str, value: int) -> list[tuple[str, int]]:
    return [(name, 0), *[(name, value)] * 2]


def new_table(kind: str, folder: Path, *, make: bool = True) -> Any:
    """A table that shares nothing with another one; `make` makes its catalog."""
    if kind == "delta":
        return DeltaFolder(f"{folder}/table")
    folder.mkdir(exist_ok=True)
    properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    if make:
        load_catalog("default", **properties).create_namespace("shop")
    return Iceberg("shop.orders", properties=properties)
