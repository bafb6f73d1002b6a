"""Merges into an Iceberg table: files that replace others, and the holding, in one commit of its catalog."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.iceberg import Iceberg, try_once
from pravega_jobs.landing.iceberg_catalog import catalog_answers
from pravega_jobs.landing.iceberg_files import location_of, remove_abandoned, remove_staged, staging_of, taken
from pravega_jobs.landing.iceberg_partitions import data_file, split_of
from pravega_jobs.landing.iceberg_standing import MERGED_IN_SNAPSHOT, IcebergStanding, note_name
from pravega_jobs.landing.locations import FolderLocation, Location, StoreLocation, no_answer
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import MERGED, Action, Holding
from pravega_jobs.landing.staged_files import StagedFiles, local_folder, new_folder, new_location, staging_in
from pravega_jobs.merging.columns import columns_for, file_schema, new_columns
from pravega_jobs.merging.engine.chunks import chunks
from pravega_jobs.merging.engine.files import Merging
from pravega_jobs.merging.engine.history import merging_for
from pravega_jobs.merging.merges import Merge, Merged, decide
from pravega_jobs.merging.rules import TableRules
from pravega_jobs.merging.target import TableState

if TYPE_CHECKING:
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import FileScanTask, Table

_WORK: Final = ".merging"
_TRIES: Final = 10
_NAMES: Final = "schema.name-mapping.default"
_RECORDS: Final = "total-records"
_DELETES: Final = "total-position-deletes", "total-equality-deletes"


@dataclass(frozen=True, slots=True)
class IcebergFile:
    """A data file of an Iceberg table, with the deletes of single rows that belong to it."""

    table: "Table"
    task: "FileScanTask"
    bounds: tuple[Any, Any] | None

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the rows that the table has of the file."""
        return pa.table(self._scan(schema).to_table([self.task])).select(schema.names).cast(schema)

    def pieces(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The same rows, some at a time."""
        for batch in self._scan(schema).to_record_batches([self.task]):
            yield pa.Table.from_batches([batch]).select(schema.names).cast(schema)

    def _scan(self, schema: pa.Schema) -> "ArrowScan":
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        return ArrowScan(self.table.metadata, self.table.io, self.table.schema().select(*schema.names), AlwaysTrue())


@dataclass(frozen=True, slots=True)
class IcebergMerges:
    """An Iceberg table as the target of merges. Of two at once, one tries again.

    Args:
        named: the table.
    """

    named: Iceberg

    def decide(self, merge: Merge, *, in_order: bool) -> Holding | None:
        """The holding of the merge's interval; None: the changes are to be merged.

        Raises:
            LandingError: the changes must not be merged.
        """
        return _held(self.named.table(), merge, in_order=in_order)

    @contextmanager
    def staging(self, columns: pa.Schema, merge: Merge, *, shared: bool) -> Iterator[Location]:
        """A new location beside the table's files, or on this disk, for as long as the block runs.

        The table is made if it is missing.

        Args:
            columns: the columns of the changes.
            merge: the merge.
            shared: True if other processes write the changes.

        Raises:
            LandingError: a table cannot have these columns.
        """
        table = self.named.table() or self.named.make_table(columns_for(columns, merge), merge.landing)
        with staging_in(_staging_of(table, merge), merge.landing, shared=shared) as location:
            yield location

    @contextmanager
    def staged(self, rows: Rows, merge: Merge, *, shared: bool) -> Iterator[StagedFiles]:
        """Write the changes as files into a new location of `staging`."""
        with self.staging(rows.arrow_schema(), merge, shared=shared) as location:
            yield rows.write_files(merge.landing, location, {})

    def commit(self, staged: StagedFiles, merge: Merge, *, in_order: bool) -> Merged:
        """Merge the staged changes, unless the table holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ValidationException

        added: list[str] = []
        last: Exception | None = None
        for _ in range(_TRIES):
            table = self.named.table()
            held = _held(table, merge, in_order=in_order)
            if held is not None:
                return Merged(Action.NOTHING, held)
            try:
                more = self._prepare(table, staged.schema(), merge)
                if table is None or more:
                    added += more
                    continue  # other commits may have been between: the table is asked again
                return self._commit(table, staged, merge, added)
            except (
                CommitFailedException,
                CommitStateUnknownException,
                ValidationException,
                FileNotFoundError,
            ) as again:
                # Another commit was first, maybe of this interval; or the next try finds the holding. Files may have
                # been replaced, and removed by an upkeep.
                last = again
            except OSError as error:
                raise no_answer(f"{merge}: the store of {self.named.identifier}", error) from error
            except (ValueError, TypeError, NotImplementedError) as error:
                raise LandingError(f"{merge}: the table {self.named.identifier} was not changed: {error}") from error
        raise TableUnavailableError(
            f"{merge}: {_TRIES} tries to change {self.named.identifier} failed, since others were first, an answer was "
            f"lost, or a file is missing (the last: {last}). Run it again: it finds out what the table holds"
        ) from last

    def state(self) -> TableState | None:
        """The columns and rows that the table's metadata note; None: there is no table."""
        table = self.named.table()
        if table is None:
            return None
        snapshot = table.current_snapshot()
        summary = None if snapshot is None else snapshot.summary
        count = None if summary is None else summary[_RECORDS]
        others = any(summary is not None and int(summary[name] or 0) for name in _DELETES)
        return TableState.of(_schema(table), None if count is None or others else int(count))

    def files(self, key: str) -> list[IcebergFile]:
        """The files of the table, with the bounds of a column; none, if there is no table."""
        table = self.named.table()
        return [] if table is None else files_of(table, key)

    def _commit(self, table: "Table", staged: StagedFiles, merge: Merge, added: list[str]) -> Merged:
        """Merge with the table as it was decided on; the commit fails if it has changed since."""
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        with _new_files(table, merge) as (folder, location):
            files, split = files_of(table, merge.rules.key[0]), split_of(table.metadata, merge.landing)
            merging = merging_for(merge, _schema(table), folder, files, split)
            merging.apply_all(chunks(staged, merging.schema, merge))
            merging.counts.new_columns += added
            holding = Holding.of(merge.landing, staged.rows)
            new = merging.staged()
            if isinstance(location, StoreLocation):
                new = new.copied_to(location)
            paths = taken(table, new)
            # The lock of a new folder is held until the commit is decided: an upkeep leaves its files alone.
            try:
                with catalog_answers(self.named.identifier):
                    _commit(table, new, paths, merging, holding)
            except (CommitFailedException, ValidationException):
                remove_staged(new, paths)  # after any other error the table may have the files
                raise
            remove_abandoned(table, new, merge.landing)
        return Merged(Action.MERGE, holding, merging.counts)

    def _prepare(self, table: "Table | None", staged: pa.Schema, merge: Merge) -> list[str]:
        """Make the table, or add the columns that the merge needs; returns the names of those that it has added."""
        if table is None:
            self.named.make_table(columns_for(staged, merge), merge.landing)
            return []
        split_of(table.metadata, merge.landing)  # fails, if the table has others than the merge names
        columns = new_columns(_schema(table), staged, merge)
        if columns:
            with table.update_schema() as update:
                update.union_by_name(pa.schema([*_schema(table), *columns]))
        return [each.name for each in columns]


def _held(table: "Table | None", merge: Merge, *, in_order: bool) -> Holding | None:
    text = None if table is None else table.properties.get(MERGED)
    settings = None if text is None else TableRules.from_text(text)
    return decide(IcebergStanding.of(table), merge, settings, in_order=in_order)


def _staging_of(table: "Table", merge: Merge) -> Location:
    """The location in which runs of a merge stage their changes."""
    root = location_of(table)
    return root.child(_WORK) if isinstance(root, FolderLocation) else staging_of(table, merge.landing)


@contextmanager
def _new_files(table: "Table", merge: Merge) -> Iterator[tuple[Path, Location]]:
    """A folder in which this process writes new files, and their location until they are the table's."""
    inside = _staging_of(table, merge)
    if isinstance(inside, FolderLocation):
        with new_folder(inside.path) as folder:
            yield folder, FolderLocation(folder)
    else:
        with local_folder() as folder, new_location(inside, str(merge.landing.generation)) as location:
            yield folder, location


def files_of(table: "Table", key: str) -> list[IcebergFile]:
    """The data files of a table, with the bounds of a column, if its values are whole numbers or dates."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.types import IntegerType, LongType

    column = table.schema().find_field(key)
    found = []
    for task in table.scan().plan_files():
        low, high = ((each or {}).get(column.field_id) for each in (task.file.lower_bounds, task.file.upper_bounds))
        nulls = (task.file.null_value_counts or {}).get(column.field_id)
        bounds = None
        if (
            low is not None
            and high is not None
            and nulls == 0
            and isinstance(column.field_type, IntegerType | LongType)
        ):
            bounds = from_bytes(column.field_type, low), from_bytes(column.field_type, high)
        found.append(IcebergFile(table, task, bounds))
    return found


def _commit(table: "Table", new: StagedFiles, paths: list[str], merging: Merging, holding: Holding) -> None:
    from pyiceberg.io.pyarrow import _check_pyarrow_schema_compatible
    from pyiceberg.typedef import Record

    note = holding.to_json().decode()
    try_once(table)
    with table.transaction() as transaction:
        if table.metadata.name_mapping() is None:
            # Files that are added have names of columns, and no numbers.
            transaction.set_properties({_NAMES: table.schema().name_mapping.model_dump_json()})
        found = transaction.table_metadata
        if new.files:
            _check_pyarrow_schema_compatible(found.schema(), new.schema(), format_version=found.format_version)
        # Also if no file changes: a merge is found in the table's history by its snapshot.
        with transaction.update_snapshot(snapshot_properties={MERGED_IN_SNAPSHOT: note}).overwrite() as snapshot:
            for each in merging.removed:
                assert isinstance(each, IcebergFile)
                snapshot.delete_data_file(each.task.file)
            for file, address in zip(new.files, paths, strict=True):
                partition = Record(*file.partition)
                snapshot.append_data_file(data_file(found, address, file.size, file.metadata, partition))
        transaction.set_properties(
            {note_name(holding.consumer, holding.interval): note, MERGED: merging.merge.rules.of_table.to_text()}
        )


def _schema(table: "Table") -> pa.Schema:
    """The table's columns, as its files have them."""
    return file_schema(table.schema().as_arrow())
