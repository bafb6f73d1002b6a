"""Merges into a Delta table: files that replace others, and the holding, in one commit of its log."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.delta import DeltaFolder, unfit
from pravega_jobs.landing.delta_holdings import DeltaHoldings, DeltaStanding, commit_properties
from pravega_jobs.landing.delta_leftovers import remove_leftovers
from pravega_jobs.landing.delta_log import is_committed, limits_of
from pravega_jobs.landing.delta_partitions import split_for
from pravega_jobs.landing.locations import Location, StoreLocation, no_answer
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import MERGED, Action, Holding
from pravega_jobs.landing.staged_files import StagedFiles, local_folder, locked, new_folder, new_location, staging_in
from pravega_jobs.merging.columns import columns_for, file_schema, new_columns
from pravega_jobs.merging.engine.chunks import chunks
from pravega_jobs.merging.engine.delta_files import DeltaFile, check_removable, files_of, replace
from pravega_jobs.merging.engine.files import Merging
from pravega_jobs.merging.engine.history import merging_for
from pravega_jobs.merging.merges import Merge, Merged, decide
from pravega_jobs.merging.rules import TableRules
from pravega_jobs.merging.target import TableState

if TYPE_CHECKING:
    from deltalake import DeltaTable

_TRIES: Final = 10


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

    @contextmanager
    def staged(self, rows: Rows, merge: Merge, *, shared: bool) -> Iterator[StagedFiles]:
        """Write the changes as files into a new location of `staging`."""
        with self.staging(rows.arrow_schema(), merge, shared=shared) as location:
            yield rows.write_files(merge.landing, location, {})

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
            replace(table, merging, target.name, target, commit_properties(holding))
            self.stored.forget_others(holding)
            if not merging.added:
                shutil.rmtree(target)
        return Merged(Action.MERGE, holding, merging.counts)

    def _commit_in_store(self, staged: StagedFiles, merge: Merge, *, in_order: bool) -> Merged:
        """Merge without a lock: what was merged with one version of the table is committed as the next one, or not."""
        from deltalake.exceptions import CommitFailedError, DeltaError

        added: list[str] = []
        last: Exception | None = None
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
            except (CommitFailedError, FileNotFoundError) as error:
                last = error  # another commit was first, or has replaced files that an upkeep has removed
                continue
            except OSError as error:
                raise no_answer(f"{merge}: the store of {self.folder.path}", error) from error
            except (DeltaError, pa.ArrowException) as error:
                raise LandingError(f"{merge}: {self.folder.path} was not changed: {error}") from error
            if done is not None:
                return done
        raise TableUnavailableError(
            f"{merge}: others changed {self.folder.path} {_TRIES} times in between, or a file is missing (the last "
            f"error: {last}). Run it again"
        ) from last

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
            merging.staged().copied_to(location)
            older = stored.put(holding)
            prefix, run = location.address.split("/")[-2:]
            location.is_taken = True
            try:
                replace(table, merging, f"{prefix}/{run}", folder, commit_properties(holding, run))
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
        schema, files = _schema(table), files_of(table, self.stored.root, merge.rules.key[0])
        merging = merging_for(merge, schema, folder, files, split_for(table, schema, merge.landing))
        merging.apply_all(chunks(staged, merging.schema, merge))
        check_removable(merging)
        merging.counts.new_columns += added
        return merging


def _held(found: DeltaStanding, merge: Merge, *, in_order: bool) -> Holding | None:
    text = None if found.table is None else found.table.metadata().configuration.get(MERGED)
    return decide(found, merge, None if text is None else TableRules.from_text(text), in_order=in_order)


def _prepared(
    folder: DeltaFolder, table: "DeltaTable | None", staged: pa.Schema, merge: Merge
) -> tuple["DeltaTable", list[str]]:
    """The table, with the columns and the property that the merge needs, and the names of the columns it has added."""
    from deltalake import DeltaTable, Schema

    limits, columns = limits_of(folder.path), columns_for(staged, merge)
    split = split_for(table, columns, merge.landing)
    table = table or DeltaTable.create(
        folder.path, columns, mode="ignore", partition_by=split.names if split else None, storage_options=limits
    )
    features = [each for each in table.protocol().reader_features or [] if each in ("deletionVectors", "columnMapping")]
    own = [*features, *unfit(table)]
    if own:
        raise LandingError(
            f"{merge}: the table has {', '.join(own)}, which files of a merge do not follow: merge into a table "
            "without. Nothing was changed"
        )
    added = new_columns(_schema(table), staged, merge)
    if added:
        table.alter.add_columns(Schema.from_arrow(pa.schema(added)).fields)
    if MERGED not in table.metadata().configuration:
        table.alter.set_table_properties({MERGED: merge.rules.of_table.to_text()}, raise_if_not_exists=False)
    return DeltaTable(folder.path, storage_options=limits), [each.name for each in added]


def _schema(table: "DeltaTable") -> pa.Schema:
    return file_schema(pa.schema(table.schema().to_arrow()))
