"""Merges into a Delta table: files that replace others, and the holding, in one commit of its log."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.delta import DeltaFolder, unfit
from pravega_jobs.landing.delta_holdings import DeltaHoldings, commit_properties
from pravega_jobs.landing.locations import FolderLocation, Location
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import MERGED, Action, Holding
from pravega_jobs.landing.staged_files import StagedFiles, locked, new_folder
from pravega_jobs.merging.columns import columns_for, file_schema, new_columns
from pravega_jobs.merging.engine.chunks import chunks
from pravega_jobs.merging.engine.files import Merging, NewFile
from pravega_jobs.merging.engine.history import merging_for
from pravega_jobs.merging.merges import Merge, Merged, decide
from pravega_jobs.merging.rules import TableRules
from pravega_jobs.merging.target import TableState

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MILLISECONDS: Final = 1000
_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file of a Delta table: its entry in the table's log, and the bounds of the key's first column."""

    table: Path
    action: dict[str, Any]
    bounds: tuple[Any, Any] | None

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the file; null, if the file is older than a column."""
        file = parquet.ParquetFile(self.table / unquote(self.action["path"]))
        rows = file.read(columns=[name for name in schema.names if name in file.schema_arrow.names])
        found = [
            rows[each.name].cast(each.type) if each.name in rows.column_names else pa.nulls(len(rows), each.type)
            for each in schema
        ]
        return pa.table(found, schema=schema)


@dataclass(frozen=True, slots=True)
class DeltaMerges:
    """A Delta table as the target of merges, which wait for each other. Others may compact it at the same time.

    Args:
        folder: the table.
    """

    folder: DeltaFolder

    @property
    def stored(self) -> DeltaHoldings:
        """The files with the holdings of the table."""
        return self.folder.stored

    def decide(self, merge: Merge, *, in_order: bool) -> Holding | None:
        """The holding of the merge's interval; None: the changes are to be merged.

        Raises:
            LandingError: the changes must not be merged.
        """
        found = self.stored.standing()
        text = None if found.table is None else found.table.metadata().configuration.get(MERGED)
        return decide(found, merge, None if text is None else TableRules.from_text(text), in_order=in_order)

    @contextmanager
    def staging(self, columns: pa.Schema, merge: Merge) -> Iterator[Location]:
        """A new location beside the table's files, for as long as the block runs."""
        with new_folder(self.stored.work) as folder:
            yield FolderLocation(folder)

    def commit(self, staged: StagedFiles, merge: Merge, *, in_order: bool) -> Merged:
        """Merge the staged changes, unless the table holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        from deltalake.exceptions import CommitFailedError, DeltaError

        with locked(self.stored.work / "lock"):
            for _ in range(_TRIES):
                held = self.decide(merge, in_order=in_order)
                if held is not None:
                    return Merged(Action.NOTHING, held)
                try:
                    return self._commit(staged, merge)
                except (DeltaError, pa.ArrowException) as error:
                    # It may have failed behind the commit, or because another program has rewritten files.
                    if isinstance(error, CommitFailedError) or self.folder.held(merge.landing):
                        continue
                    raise LandingError(f"{merge}: {self.folder.path} was not changed: {error}") from error
        raise LandingError(f"{merge}: others changed {self.folder.path} {_TRIES} times in between. Run it again")

    def state(self) -> TableState | None:
        """The columns and rows that the table's log notes; None: there is no table."""
        table = self.stored.table()
        if table is None:
            return None
        files = pa.table(table.get_add_actions(flatten=True))
        counts = files["num_records"].to_pylist() if "num_records" in files.column_names else [None]
        return TableState.of(_schema(table), None if None in counts else sum(counts))

    def files(self, key: str) -> list[DeltaFile]:
        """The files of the table, with the bounds of a column; none, if there is no table."""
        table = self.stored.table()
        return [] if table is None else files_of(table, self.folder.path, key)

    def _commit(self, staged: StagedFiles, merge: Merge) -> Merged:
        table, added = _prepared(self.folder, self.stored.table(), staged.schema(), merge)
        with new_folder(self.stored.work) as folder:
            merging = merging_for(merge, _schema(table), folder, files_of(table, self.folder.path, merge.rules.key[0]))
            merging.apply_all(chunks(staged, merging.schema, merge))
            merging.counts.new_columns += added
            holding = Holding.of(merge.landing, staged.rows)
            self.stored.write(holding, folder)
            target = local_path(self.folder.path) / f"merge-{folder.name}"
            folder.rename(target)
            table.create_write_transaction(
                [*_removals(merging), *(_addition(target, each, merge) for each in merging.added)],
                mode="append",
                schema=table.schema(),
                commit_properties=commit_properties(holding),
            )
            self.stored.forget_others(holding)
            if not merging.added:
                target.rmdir()
        return Merged(Action.MERGE, holding, merging.counts)


def files_of(table: "DeltaTable", path: str, key: str) -> list[DeltaFile]:
    """The files of a table, with the bounds of a column."""
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    found = []
    for each in actions:
        bounds = each.get(f"min.{key}"), each.get(f"max.{key}")
        whole = None not in bounds and each.get(f"null_count.{key}") == 0
        found.append(DeltaFile(local_path(path), each, bounds if whole else None))
    return found


def _prepared(
    folder: DeltaFolder, table: "DeltaTable | None", staged: pa.Schema, merge: Merge
) -> tuple["DeltaTable", list[str]]:
    """The table, with the columns and the property that the merge needs, and the names of the columns it has added."""
    from deltalake import DeltaTable, Schema

    table = table or DeltaTable.create(folder.path, columns_for(staged, merge), mode="ignore")
    features = [each for each in table.protocol().reader_features or [] if each in ("deletionVectors", "columnMapping")]
    own = [*features, *(["partitions"] if table.metadata().partition_columns else []), *unfit(table)]
    if own:
        raise LandingError(
            f"{merge}: the table has {', '.join(own)}, which files of a merge do not follow: merge into a table "
            "without. Nothing was changed"
        )
    columns = new_columns(_schema(table), staged, merge)
    if columns:
        table.alter.add_columns(Schema.from_arrow(pa.schema(columns)).fields)
    if MERGED not in table.metadata().configuration:
        table.alter.set_table_properties({MERGED: merge.rules.of_table.to_text()}, raise_if_not_exists=False)
    return DeltaTable(folder.path), [each.name for each in columns]


def _schema(table: "DeltaTable") -> pa.Schema:
    return file_schema(pa.schema(table.schema().to_arrow()))


def _removals(merging: Merging) -> list[Any]:
    from deltalake.transaction import RemoveAction

    now = int(time.time() * _MILLISECONDS)
    found = [each.action for each in merging.removed if isinstance(each, DeltaFile)]
    return [RemoveAction(each["path"], True, now, each["size_bytes"], {}) for each in found]


def _addition(folder: Path, file: NewFile, merge: Merge) -> Any:
    from deltalake.transaction import AddAction

    stats: dict[str, Any] = {"numRecords": file.rows}
    if file.bounds is not None:
        name = merge.rules.key[0]
        low, high = (each if isinstance(each, int) else str(each) for each in file.bounds)
        stats |= {"minValues": {name: low}, "maxValues": {name: high}, "nullCount": {name: 0}}
    return AddAction(
        path=f"{folder.name}/{file.path.name}",
        size=(folder / file.path.name).stat().st_size,
        partition_values={},
        modification_time=int(time.time() * _MILLISECONDS),
        data_change=True,
        stats=json.dumps(stats),
    )
