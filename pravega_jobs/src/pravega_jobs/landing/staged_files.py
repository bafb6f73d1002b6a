"""Parquet files of rows on their way into a table, in a new location that no table shows yet."""

import fcntl
import io
import os
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.locations import FolderLocation, Location
from pravega_jobs.landing.rules import OWN_COLUMNS, Landing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

    from pravega_jobs.landing.splitting import Split

_PREFIX: Final = "staged-"
_LOCK: Final = ".lock"
_BATCH_ROWS: Final = 64 * 1024
_COPIED_BYTES: Final = 8 * 1024**2


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A Parquet file that a task or this process has written.

    Args:
        name: its name in its location.
        size: its bytes.
        footer: its metadata as Parquet's writer gave them: rows, columns, and statistics of each column.
        partition: the values of its partition, as `Split.parts` gives them.
    """

    name: str
    size: int
    footer: bytes
    partition: tuple[Any, ...] = ()

    @property
    def metadata(self) -> "parquet.FileMetaData":
        """The footer, read."""
        return _metadata(self.footer)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.metadata.num_rows)


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """The files of a landing that count, all in one location.

    Args:
        location: the location.
        files: the files; of rows that are split, there may be none.
        footer: the footer of a file with their columns.
        split: the split by which they were written; None: the rows were not split.
        left_out: the columns of the rows that the files do not have, with their positions.
    """

    location: Location
    files: tuple[StagedFile, ...]
    footer: bytes
    split: "Split | None" = None
    left_out: "tuple[tuple[int, pa.Field], ...]" = ()

    @property
    def folder(self) -> Path:
        """The folder of the files, if they are on a file system."""
        assert isinstance(self.location, FolderLocation)
        return self.location.path

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(each.rows for each in self.files)

    def schema(self) -> "pa.Schema":
        """The columns of the rows, without metadata."""
        found = _metadata(self.footer).schema.to_arrow_schema().remove_metadata()
        for position, column in self.left_out:
            found = found.insert(position, column)
        return found

    def check_values(self, required: Collection[str], landing: Landing) -> None:
        """Check that columns have a value in each row, by the statistics of the files.

        Raises:
            LandingError: one has none.
        """
        empty = sorted(name for name in required if any(self._lacks_values(each, name) for each in self.files))
        if empty:
            raise LandingError(
                f"{landing}: the rows have null in {', '.join(empty)}, which may not be null in the table. Filter or "
                "fill such rows in the job; or, of rows that this process writes, have them become errors, by errors "
                "and event_pointer. Nothing was changed"
            )

    def _lacks_values(self, file: StagedFile, name: str) -> bool:
        """True if a column is null in some row of a file."""
        if self.split is not None and any(each.name == name for _, each in self.left_out):
            return bool(file.rows) and file.partition[self.split.names.index(name)] is None
        groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
        chunks = (group.column(at) for group in groups for at in range(group.num_columns))
        leaves = [each for each in chunks if each.path_in_schema.split(".")[0] == name]
        if all(each.statistics is not None and each.statistics.null_count == 0 for each in leaves):
            return False
        if all(each.path_in_schema == name and each.statistics is not None for each in leaves):
            return True
        from pyarrow import parquet  # the null may be inside of a value

        with self.location.source(file.name) as source:
            return bool(parquet.ParquetFile(source).read([name]).column(name).null_count)

    def read(self, file: StagedFile) -> "pa.Table":
        """The rows of a file."""
        from pyarrow import parquet

        with self.location.source(file.name) as source:
            return parquet.ParquetFile(source).read()

    def batches(self) -> "pa.RecordBatchReader":
        """The rows, batch by batch."""
        import pyarrow as pa
        from pyarrow import parquet

        def batches() -> Iterator[pa.RecordBatch]:
            for each in self.files:
                with self.location.source(each.name) as source:
                    for batch in parquet.ParquetFile(source).iter_batches(_BATCH_ROWS):
                        yield self._whole(batch, each)

        return pa.RecordBatchReader.from_batches(self.schema(), batches())

    def copied_to(self, location: Location) -> "StagedFiles":
        """The same files in another location, which does not have them yet."""
        for each in self.files:
            with self.location.source(each.name) as source, location.sink(each.name) as sink:
                shutil.copyfileobj(source, sink, _COPIED_BYTES)
        return replace(self, location=location)

    def _whole(self, batch: "pa.RecordBatch", file: StagedFile) -> "pa.RecordBatch":
        """The rows of a batch with the columns that their file does not have: the values of its partition."""
        import pyarrow as pa

        values = {} if self.split is None else dict(zip(self.split.names, file.partition, strict=True))
        for position, column in self.left_out:
            constant = pa.repeat(pa.scalar(values[column.name], column.type), batch.num_rows)
            batch = batch.add_column(position, column, constant)
        return batch

    @classmethod
    def found_in(cls, folder: Path) -> "StagedFiles":
        """The Parquet files in a folder."""
        from pyarrow import parquet

        files = sorted(folder.glob("*.parquet"))
        found = (StagedFile(each.name, each.stat().st_size, footer_of(parquet.read_metadata(each))) for each in files)
        staged = tuple(found)
        return cls(FolderLocation(folder), staged, staged[0].footer if staged else b"")


def footer_of(metadata: "parquet.FileMetaData") -> bytes:
    """The metadata of a Parquet file as bytes, for `StagedFile`."""
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    return sink.getvalue()


def _metadata(footer: bytes) -> "parquet.FileMetaData":
    import pyarrow as pa
    from pyarrow import parquet

    return parquet.read_metadata(pa.BufferReader(footer))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is missing: others wait. The lock ends with the process.

    Raises:
        LandingError: the file system has no locks.
    """
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise LandingError(f"{path} cannot be locked ({error}): use a file system that has locks") from None
        yield


@contextmanager
def new_folder(inside: Path) -> Iterator[Path]:
    """The name of a new folder, for as long as the block runs; folders of killed processes are removed.

    The folder itself is not made: who writes the rows does that. Afterwards it is gone, or has been moved.
    """
    inside.mkdir(parents=True, exist_ok=True)
    remove_abandoned(inside)
    while True:
        folder = inside / f"{_PREFIX}{uuid.uuid4().hex}"
        lock = folder.with_suffix(_LOCK)
        with locked(lock):
            if not lock.exists():
                continue  # between its making and its locking, another run took it for abandoned
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
            return


@contextmanager
def new_location(inside: Location, name: str) -> Iterator[Location]:
    """A new location, for as long as the block runs: a folder as `new_folder` gives it, or a prefix in a store.

    Afterwards its files are gone, unless `taken` was called. Of a process that is killed, the next run removes
    the folder; files in a store stay, and their names say whose they are.

    Args:
        inside: the folder or the prefix that it is in.
        name: the begin of the name of a prefix, which gets a random end.
    """
    if isinstance(inside, FolderLocation):
        with new_folder(inside.path) as folder:
            yield FolderLocation(folder)
        return
    location = inside.child(f"{name}-{uuid.uuid4().hex}")
    try:
        yield location
    finally:
        if not location.is_taken:
            # What cannot be removed now stays like files of a killed process: the run has its own result, or error.
            with suppress(LandingError):
                location.remove_all()


@contextmanager
def local_folder() -> Iterator[Path]:
    """A new folder on the disk of this process, for as long as the block runs: what is for a store is made there."""
    with tempfile.TemporaryDirectory(prefix="pravega-tables-") as folder:
        yield Path(folder)


@contextmanager
def staging_in(inside: Location, landing: Landing, *, shared: bool) -> Iterator[Location]:
    """A new location in which the rows of a landing are staged, for as long as the block runs.

    Args:
        inside: the location in which runs of the landing stage rows.
        landing: the landing.
        shared: True if other processes write the rows. If not, rows for a table in a store are on this disk.
    """
    if shared or isinstance(inside, FolderLocation):
        with new_location(inside, str(landing.generation)) as location:
            yield location
    else:
        with local_folder() as folder:
            yield FolderLocation(folder / "staged")


def remove_abandoned(inside: Path) -> None:
    """Remove the folders whose process has ended: their locks are free."""
    for lock in inside.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            with lock.open("r+b") as file:  # "ab" would make it again, after another process has removed it
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file.fileno()).st_nlink:  # else another process was faster
                    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                    lock.unlink(missing_ok=True)
        except OSError:
            continue  # it is in use


def count_rows(batches: "Iterable[pa.RecordBatch]") -> dict[tuple[str, str], int]:
    """Numbers of rows by consumer and interval, counted in batches. One batch is in memory at a time.

    Args:
        batches: with the columns `_consumer` and `_interval`, maybe among others.
    """
    import pyarrow as pa

    counts: Counter[tuple[str, str]] = Counter()
    consumer, interval = OWN_COLUMNS
    for batch in batches:
        table = pa.Table.from_batches([batch]).group_by(list(OWN_COLUMNS)).aggregate([([], "count_all")])
        for row in table.to_pylist():
            counts[row[consumer], row[interval]] += row["count_all"]
    return dict(counts)
