"""Files of a Delta table that merges read, with their partitions, and replace in one commit."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.delta_partitions import text_of
from pravega_jobs.landing.locations import Location
from pravega_jobs.merging.engine.files import Merging
from pravega_jobs.merging.engine.table_files import NewFile, pieces_of, read_columns
from pravega_jobs.merging.merges import Merge

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MILLISECONDS: Final = 1000
# Characters that deltalake writes into the log as they are, beside letters, digits and `_.-~`.
_PLAIN: Final = "!$&'()+,/:;=@"


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file of a Delta table.

    Args:
        table: the location of the table.
        action: its entry in the table's log.
        bounds: the least and the greatest value of the key's first column, if both are known.
        partition: its values of the partition columns.
    """

    table: Location
    action: dict[str, Any]
    bounds: tuple[Any, Any] | None
    partition: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The name of the file in the table; the log has it encoded."""
        return unquote(self.action["path"])

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the file, with its partition columns; null, if the file is older than a column."""
        with self.table.source(self.path) as source:
            return read_columns(parquet.ParquetFile(source), schema, self.partition)

    def pieces(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The same rows, some at a time."""
        with self.table.source(self.path) as source:
            yield from pieces_of(parquet.ParquetFile(source), schema, self.partition)


def files_of(table: "DeltaTable", root: Location, key: str) -> list[DeltaFile]:
    """The files of a table, with the bounds of a column."""
    names = table.metadata().partition_columns
    found = []
    for each in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        partition = {name: each[f"partition.{name}"] for name in names}
        if key in partition:
            bounds, whole = (partition[key], partition[key]), partition[key] is not None
        else:
            bounds = each.get(f"min.{key}"), each.get(f"max.{key}")
            whole = None not in bounds and each.get(f"null_count.{key}") == 0
        found.append(DeltaFile(root, each, bounds if whole else None, partition))
    return found


def check_removable(merging: Merging) -> None:
    """Check that the files that a merge replaces can be removed from the log.

    A removal names the path of its file. If it is written in another way than in the log, the file stays in the table,
    and its rows are there twice.

    Raises:
        LandingError: deltalake writes the path of a file differently.
    """
    for each in merging.removed:
        assert isinstance(each, DeltaFile)
        if quote(each.path, safe=_PLAIN) != each.action["path"]:
            raise LandingError(
                f"{merging.merge}: the log of the table has the file {each.action['path']!r}, a path that is written "
                "differently by deltalake, so that it cannot replace the file: write the table again with deltalake, "
                "or merge into a new table. Nothing was changed"
            )


def replace(table: "DeltaTable", merging: Merging, prefix: str, folder: Path, properties: Any) -> None:
    """Replace the files of the table in one commit.

    Args:
        table: the table.
        merging: the files.
        prefix: where the new files are in the table.
        folder: the folder in which this process has them.
        properties: the properties of the commit.
    """
    names = table.metadata().partition_columns
    added = [_addition(prefix, folder / each.name, each, merging.merge, names) for each in merging.added]
    table.create_write_transaction(
        [*_removals(merging), *added],
        mode="append",
        schema=table.schema(),
        partition_by=names,
        commit_properties=properties,
    )


def _removals(merging: Merging) -> list[Any]:
    from deltalake.transaction import RemoveAction

    now = int(time.time() * _MILLISECONDS)
    found = []
    for each in merging.removed:
        assert isinstance(each, DeltaFile)
        texts = {name: text_of(value) for name, value in each.partition.items()}
        found.append(RemoveAction(each.path, True, now, each.action["size_bytes"], texts))  # deltalake encodes it
    return found


def _addition(prefix: str, path: Path, file: NewFile, merge: Merge, names: list[str]) -> Any:
    from deltalake.transaction import AddAction

    stats: dict[str, Any] = {"numRecords": file.rows}
    if file.bounds is not None and merge.rules.key[0] not in names:
        name = merge.rules.key[0]
        low, high = (each if isinstance(each, int) else str(each) for each in file.bounds)
        stats |= {"minValues": {name: low}, "maxValues": {name: high}, "nullCount": {name: 0}}
    return AddAction(
        path=f"{prefix}/{file.name}",  # as it is: deltalake encodes it for the log
        size=path.stat().st_size,
        partition_values={name: text_of(value) for name, value in file.constants.items()},
        modification_time=int(time.time() * _MILLISECONDS),
        data_change=True,
        stats=json.dumps(stats),
    )
