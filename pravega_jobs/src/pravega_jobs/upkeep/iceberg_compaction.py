"""Small files of an Iceberg table, put together.

pyiceberg puts no files together: they are read one by one and written again, and one commit replaces them. It is a
replacement by its name (`replace`): its rows are the same, and no reader of changes sees any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyarrow import parquet
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ValidationException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.iceberg import Iceberg, try_once
from pravega_jobs.landing.iceberg_catalog import catalog_answers
from pravega_jobs.landing.iceberg_files import into_table
from pravega_jobs.landing.iceberg_partitions import data_file
from pravega_jobs.landing.locations import StoreLocation
from pravega_jobs.landing.staged_files import StagedFiles, local_folder, new_folder, new_location
from pravega_jobs.upkeep import iceberg_store
from pravega_jobs.upkeep.rules import UpkeepRules, groups

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table

_TRIES: Final = 10
# In a store, each try reads and writes the rows.
_STORE_TRIES: Final = 3
_MARK: Final = {"pravega.upkeep": "files put together"}


@dataclass(slots=True)
class _Group:
    """Files that are put together, and the file that replaces them."""

    tasks: list["FileScanTask"]
    path: str = ""

    def is_in(self, live: dict[str, "FileScanTask"]) -> bool:
        """True if the table still has all files as they were read."""
        return all(
            each.file.file_path in live and _deletes(each) == _deletes(live[each.file.file_path]) for each in self.tasks
        )


class Counts:
    """Counts of files that were put together, or would be, and what was not done."""

    def __init__(self) -> None:
        self.files = self.size = self.new_files = 0
        self.left: list[str] = []

    def count(self, done: Sequence[_Group]) -> None:
        """Set the counts, by the groups whose files were replaced."""
        self.files = sum(len(each.tasks) for each in done)
        self.size = sum(task.file.file_size_in_bytes for each in done for task in each.tasks)
        self.new_files = len(done)


class Compaction(Counts):
    """Small files of a table in a folder put together."""

    def __init__(self, named: Iceberg, rules: UpkeepRules, work: Path) -> None:
        super().__init__()
        self.named, self.rules, self.work = named, rules, work

    def run(self) -> None:
        """Put files together."""
        table = self.named.load()
        found = [_Group(each) for each in small_files(table, self.rules.target_file_bytes)]
        if self.rules.dry_run or not found:
            self.count(found)
            return
        with new_folder(self.work) as folder:
            folder.mkdir()
            names = [_write(table, each.tasks, folder / f"part-{n}.parquet").name for n, each in enumerate(found)]
            for group, path in zip(found, into_table(table, folder, names), strict=True):
                group.path = path
            self._commit(found)

    def _commit(self, found: Sequence[_Group]) -> None:
        """Replace the files of all groups that the table still has.

        Raises:
            TableUnavailableError: others were first too often.
        """
        for _ in range(_TRIES):
            table = self.named.load()
            live = _live(table)
            done = [each for each in found if each.path in live]  # its answer was lost
            whole = [] if done else [each for each in found if each.is_in(live)]
            if whole:
                try:
                    with catalog_answers(self.named.identifier):
                        _replace(table, whole)
                except (CommitFailedException, CommitStateUnknownException, ValidationException):
                    continue
            self.count(done or whole)
            if len(done or whole) < len(found):
                self.left.append("some files were not put together: others replaced them meanwhile")
            return
        raise _beaten(self.named, _TRIES)


class StoreCompaction(Counts):
    """Small files of a table in a store put together."""

    def __init__(self, named: Iceberg, rules: UpkeepRules, root: StoreLocation) -> None:
        super().__init__()
        self.named, self.rules, self.root = named, rules, root

    def run(self) -> None:
        """Put files together.

        Raises:
            TableUnavailableError: others were first too often.
        """
        for _ in range(_STORE_TRIES):
            table = self.named.load()
            found = [_Group(each) for each in small_files(table, self.rules.target_file_bytes)]
            if self.rules.dry_run or not found or self._is_done(table, found):
                self.count(found)
                return
        raise _beaten(self.named, _STORE_TRIES)

    def _is_done(self, table: "Table", found: Sequence[_Group]) -> bool:
        """True if the files of groups were replaced; False: others were first, and the rows are read again.

        The commit needs the snapshot that was read: so its name tells whether files of a dead run can be committed.
        """
        inside, name = iceberg_store.staging_of_upkeep(table, self.root)
        with local_folder() as folder, new_location(inside, name) as location:
            for number, group in enumerate(found):
                group.path = location.file(_write(table, group.tasks, folder / f"part-{number}.parquet").name)
            StagedFiles.found_in(folder).copied_to(location)
            location.taken(location)
            try:
                with catalog_answers(self.named.identifier):
                    _replace(table, found)
            except (CommitFailedException, ValidationException):
                location.remove_all()
                return False
            except CommitStateUnknownException:
                return found[0].path in _live(self.named.load())
        return True


class _Replaced(_OverwriteFiles):
    """A commit of files with the rows of others, called so: pyiceberg makes none."""

    def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
        summary = super()._summary(snapshot_properties or {})
        return Summary(operation=Operation.REPLACE, **summary.additional_properties)


def _beaten(named: Iceberg, tries: int) -> TableUnavailableError:
    return TableUnavailableError(
        f"{tries} commits to {named.identifier} were refused, since others were first, or had no clear answer. Run the "
        "upkeep again"
    )


def _replace(table: "Table", found: Sequence[_Group]) -> None:
    """Replace the files of groups in one commit, which fails if the table has changed since it was loaded."""
    try_once(table)
    with table.transaction() as transaction:
        snapshot = _Replaced(
            operation=Operation.OVERWRITE, transaction=transaction, io=table.io, snapshot_properties=_MARK
        )
        for group in found:
            for task in group.tasks:
                snapshot.delete_data_file(task.file)
            snapshot.append_data_file(_data_file(table, group))
        snapshot.commit()


def small_files(table: "Table", target: int) -> Iterator[list["FileScanTask"]]:
    """Groups of small files of one partition."""
    by_partition: dict[str, list[tuple[FileScanTask, int]]] = {}
    for task in _live(table).values():
        if task.file.spec_id == table.metadata.default_spec_id:
            by_partition.setdefault(repr(task.file.partition), []).append((task, task.file.file_size_in_bytes))
    for files in by_partition.values():
        yield from groups(files, target)


def _live(table: "Table") -> dict[str, "FileScanTask"]:
    try:
        return {each.file.file_path: each for each in table.scan().plan_files()}
    except (ValueError, NotImplementedError) as error:
        raise LandingError(
            f"{'.'.join(table.name())} has files that pyiceberg does not read: {error}. Use rewrite_data_files of "
            "Spark. Nothing was changed"
        ) from error


def _deletes(task: "FileScanTask") -> set[str]:
    return {each.file_path for each in task.delete_files}


def _write(table: "Table", tasks: Sequence["FileScanTask"], path: Path) -> Path:
    """Write the rows that some files have for the table; one of these files is in memory at a time."""
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    columns = schema_to_pyarrow(table.schema())
    with parquet.ParquetWriter(path, columns, compression="zstd") as writer:
        for task in tasks:
            for batch in scan.to_record_batches([task]):
                writer.write_table(pa.Table.from_batches([batch]).cast(columns))
    return path


def _data_file(table: "Table", group: _Group) -> DataFile:
    source = table.io.new_input(group.path)
    with source.open() as opened:
        footer: Any = parquet.read_metadata(opened)
    return data_file(table.metadata, group.path, len(source), footer, group.tasks[0].file.partition)
