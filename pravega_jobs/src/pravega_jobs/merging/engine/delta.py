"""Merges into a Delta table: files that replace others, and the holding, in one commit of its log."""

import json
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.delta import DeltaFolder, unfit
from pravega_jobs.landing.delta_holdings import DeltaHoldings, DeltaStanding, commit_properties
from pravega_jobs.landing.delta_leftovers import remove_leftovers
from pravega_jobs.landing.delta_log import is_committed, limits_of
from pravega_jobs.landing.locations import Location, StoreLocation, no_answer
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import MERGED, Action, Holding
from pravega_jobs.landing.staged_files import StagedFiles, local_folder, locked, new_folder, new_location, staging_in
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

    table: Location
    action: dict[str, Any]
    bounds: tuple[Any, Any] | None

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the file; null, if the file is older than a column."""
        with self.table.source(unquote(self.action["path"])) as source:
            file = parquet.ParquetFile(source)
            rows = file.read(columns=[name for name in schema.names if name in file.schema_arrow.names])
        found = [
            rows[each.name].cast(each.type) if each.name in rows.column_names else pa.nulls(len(rows), each.type)
            for each in schema
        ]
        return pa.table(found, schema=schema)


@dataclass(frozen=True, slots=True)
class DeltaMerges:
    """A Delta table as the target of merges. Others may compact it at the same time.

    In a folder, merges wait for each other. In a store, one decides again and merges again after each commit of others.

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
        return _held(self.stored.standing(), merge, in_order=in_order)

    def staging(self, columns: pa.Schema, merge: Merge, *, shared: bool) -> AbstractContextManager[Location]:
        """A new location beside the table's files, or on this disk, for as long as a block runs."""
        return staging_in(self.stored.staging(merge.landing), merge.landing, shared=shared)

    def commit(self, staged: StagedFiles, merge: Merge, *, in_order: bool) -> Merged:
        """Merge the staged changes, unless the table holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
            TableUnavailableError: the store of the table did not answer clearly, or others were first each time.
        """
        if self.stored.store is not None:
            return self._commit_in_store(staged, merge, in_order=in_order)
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
        return [] if table is None else files_of(table, self.stored.root, key)

    def _commit(self, staged: StagedFiles, merge: Merge) -> Merged:
        table, added = _prepared(self.folder, self.stored.table(), staged.schema(), merge)
        with new_folder(self.stored.work) as folder:
            merging = self._merged(table, folder, staged, merge, added)
            holding = Holding.of(merge.landing, staged.rows)
            self.stored.write(holding, folder)
            target = local_path(self.folder.path) / f"merge-{folder.name}"
            folder.rename(target)
            _replace(table, merging, target.name, target, commit_properties(holding))
            self.stored.forget_others(holding)
            if not merging.added:
                target.rmdir()
        return Merged(Action.MERGE, holding, merging.counts)

    def _commit_in_store(self, staged: StagedFiles, merge: Merge, *, in_order: bool) -> Merged:
        """Merge without a lock: what was merged with one version of the table is committed as the next one, or not."""
        from deltalake.exceptions import CommitFailedError, DeltaError

        added: list[str] = []
        for _ in range(_TRIES):
            found = self.stored.standing()
            held = _held(found, merge, in_order=in_order)
            if held is not None:
                return Merged(Action.NOTHING, held)
            decided = None if found.table is None else found.table.version()
            try:
                table, more = _prepared(self.folder, found.table, staged.schema(), merge)
                added += more
                # If it has other commits by now, what it holds is decided again.
                done = self._try_in_store(table, staged, merge, added) if table.version() == decided else None
            except (CommitFailedError, FileNotFoundError):
                continue  # another commit was first, or has replaced files that an upkeep has removed
            except OSError as error:
                raise no_answer(f"{merge}: the store of {self.folder.path}", error) from error
            except (DeltaError, pa.ArrowException) as error:
                raise LandingError(f"{merge}: {self.folder.path} was not changed: {error}") from error
            if done is not None:
                return done
        raise TableUnavailableError(
            f"{merge}: others changed {self.folder.path} {_TRIES} times in between, or files of the run were removed. "
            "Run it again"
        )

    def _try_in_store(self, table: "DeltaTable", staged: StagedFiles, merge: Merge, added: list[str]) -> Merged | None:
        """Merge with a version of the table, and commit; None: another commit was first.

        Raises:
            TableUnavailableError: it is not known whether it was committed.
        """
        from deltalake.exceptions import DeltaError

        stored, since = self.stored, table.version()
        with (
            local_folder() as folder,
            new_location(stored.staging(merge.landing), str(merge.landing.generation)) as location,
        ):
            assert isinstance(location, StoreLocation)
            merging = self._merged(table, folder, staged, merge, added)
            holding = Holding.of(merge.landing, staged.rows)
            StagedFiles.found_in(folder).copied_to(location)
            older = stored.put(holding)
            prefix, run = location.address.split("/")[-2:]
            location.is_taken = True
            try:
                _replace(table, merging, f"{prefix}/{run}", folder, commit_properties(holding, run))
            except (DeltaError, OSError) as error:
                what = f"{merge}: the commit to {self.folder.path}"
                if not is_committed(stored.table(), run, since, error, what):
                    location.is_taken = False
                    return None
            stored.forget(older)
            remove_leftovers(stored, merge.landing, location)
        return Merged(Action.MERGE, holding, merging.counts)

    def _merged(
        self, table: "DeltaTable", folder: Path, staged: StagedFiles, merge: Merge, added: list[str]
    ) -> Merging:
        """The files of the table as they are after the changes; new ones are in a folder."""
        merging = merging_for(merge, _schema(table), folder, files_of(table, self.stored.root, merge.rules.key[0]))
        merging.apply_all(chunks(staged, merging.schema, merge))
        merging.counts.new_columns += added
        return merging


def _held(found: DeltaStanding, merge: Merge, *, in_order: bool) -> Holding | None:
    text = None if found.table is None else found.table.metadata().configuration.get(MERGED)
    return decide(found, merge, None if text is None else TableRules.from_text(text), in_order=in_order)


def files_of(table: "DeltaTable", root: Location, key: str) -> list[DeltaFile]:
    """The files of a table, with the bounds of a column."""
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    found = []
    for each in actions:
        bounds = each.get(f"min.{key}"), each.get(f"max.{key}")
        whole = None not in bounds and each.get(f"null_count.{key}") == 0
        found.append(DeltaFile(root, each, bounds if whole else None))
    return found


def _prepared(
    folder: DeltaFolder, table: "DeltaTable | None", staged: pa.Schema, merge: Merge
) -> tuple["DeltaTable", list[str]]:
    """The table, with the columns and the property that the merge needs, and the names of the columns it has added."""
    from deltalake import DeltaTable, Schema

    limits = limits_of(folder.path)
    table = table or DeltaTable.create(folder.path, columns_for(staged, merge), mode="ignore", storage_options=limits)
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
    return DeltaTable(folder.path, storage_options=limits), [each.name for each in columns]


def _schema(table: "DeltaTable") -> pa.Schema:
    return file_schema(pa.schema(table.schema().to_arrow()))


def _removals(merging: Merging) -> list[Any]:
    from deltalake.transaction import RemoveAction

    now = int(time.time() * _MILLISECONDS)
    found = [each.action for each in merging.removed if isinstance(each, DeltaFile)]
    return [RemoveAction(each["path"], True, now, each["size_bytes"], {}) for each in found]


def _replace(table: "DeltaTable", merging: Merging, prefix: str, folder: Path, properties: Any) -> None:
    """Replace the files of the table in one commit.

    Args:
        table: the table.
        merging: the files.
        prefix: where the new files are in the table.
        folder: the folder in which this process has them.
        properties: the properties of the commit.
    """
    added = [_addition(prefix, folder / each.path.name, each, merging.merge) for each in merging.added]
    table.create_write_transaction(
        [*_removals(merging), *added], mode="append", schema=table.schema(), commit_properties=properties
    )


def _addition(prefix: str, path: Path, file: NewFile, merge: Merge) -> Any:
    from deltalake.transaction import AddAction

    stats: dict[str, Any] = {"numRecords": file.rows}
    if file.bounds is not None:
        name = merge.rules.key[0]
        low, high = (each if isinstance(each, int) else str(each) for each in file.bounds)
        stats |= {"minValues": {name: low}, "maxValues": {name: high}, "nullCount": {name: 0}}
    return AddAction(
        path=f"{prefix}/{path.name}",
        size=path.stat().st_size,
        partition_values={},
        modification_time=int(time.time() * _MILLISECONDS),
        data_change=True,
        stats=json.dumps(stats),
    )
