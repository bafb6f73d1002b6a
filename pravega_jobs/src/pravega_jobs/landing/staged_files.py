"""Rows as Parquet files that Spark's executors have written, in a folder of their own that no table shows yet.

The folder must be the same for the driver and all executors. The rows that Spark has written are compared with those of
the files that the driver finds, so that a folder which is not shared is an error, and not a table with too few rows.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.known_timestamps import known_timestamps
from pravega_jobs.landing.rules import Landing
from pravega_jobs.spark.frames import count_of, counted, with_constants

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_PREFIX: Final = "staged-"
_LOCK: Final = ".lock"
_BATCH_ROWS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """The files of a landing, all in one folder, and their rows."""

    folder: Path
    files: tuple[Path, ...]
    row_counts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(self.row_counts)

    def schema(self) -> "pa.Schema":
        """The columns of the files, without what Spark notes about them."""
        from pyarrow import parquet

        return parquet.read_schema(self.files[0]).remove_metadata()

    def batches(self) -> "pa.RecordBatchReader":
        """The rows, batch by batch."""
        from pyarrow import dataset

        return dataset.dataset(self.files, format="parquet").scanner(batch_size=_BATCH_ROWS).to_reader()

    @classmethod
    def found_in(cls, folder: Path) -> "StagedFiles":
        """The Parquet files in a folder."""
        from pyarrow import parquet

        files = tuple(sorted(folder.glob("*.parquet")))
        return cls(folder, files, tuple(parquet.read_metadata(file).num_rows for file in files))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is missing: others wait. It ends with the process, however it ends.

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
    """The name of a new folder, for as long as the block runs; folders of blocks that were killed are removed.

    The folder itself is not made: Spark does that. Afterwards it is gone, or has been moved.
    """
    inside.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(inside)
    folder = inside / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = folder.with_suffix(_LOCK)
    with locked(lock):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def _remove_abandoned(inside: Path) -> None:
    """Remove the folders whose process has ended: nobody holds their locks."""
    for lock in inside.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            with lock.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file.fileno()).st_nlink:  # else another process was faster
                    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                    lock.unlink(missing_ok=True)
        except OSError:
            continue  # it is in use


def write_files(frame: "DataFrame", landing: Landing, folder: Path, own: dict[str, str]) -> StagedFiles:
    """Have Spark write the rows of a frame, with the columns of the landing, into a new folder.

    Args:
        frame: the rows.
        landing: whose they are.
        folder: where; it must not exist yet.
        own: more columns with one text each.

    Raises:
        LandingError: the driver does not find the rows that the executors have written.
    """
    frame, count = counted(with_constants(frame, own))
    with known_timestamps(frame.sparkSession):
        frame.write.parquet(f"file://{folder}")
    written, found = count_of(count), StagedFiles.found_in(folder)
    if found.rows != written:
        raise LandingError(
            f"{landing}: Spark has written {written} rows into {folder}, but this process finds {found.rows} there. "
            "Its executors and this process must share this folder. The table was not changed"
        )
    return found
