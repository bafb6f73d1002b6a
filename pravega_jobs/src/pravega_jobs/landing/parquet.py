"""Folders of Parquet files as tables: each interval is a folder in the table, which appears whole or not at all.

    table/landing=orders-2013-01-01-3f9a…/part-….parquet, .landing.json    the rows of one interval, and what they are
    table/.landing/                                                        the lock, columns, files not yet in the table
    table/.landing/table                                                   the mark of the table, which does not change

The folder of an interval is renamed into the table together with its holding, so that a note goes where its rows go. A
run holds `.landing/lock` from the moment it reads the holdings to the rename, so that the second of two runs finds the
holding of the first.
"""

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.growth import TableColumns, growth
from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import (
    CONSUMER_COLUMN,
    INTERVAL_COLUMN,
    Action,
    Holding,
    Landed,
    Landing,
    Standing,
    decide,
)
from pravega_jobs.landing.staged_files import StagedFiles, locked, new_folder
from pravega_jobs.landing.table_kind import LandingTable

if TYPE_CHECKING:
    import pyarrow as pa

_WORK: Final = ".landing"
_HOLDING: Final = ".landing.json"
_COLUMNS: Final = "columns.json"
_MARK: Final = "table"
_OLD: Final = "old-"
_LONGEST: Final = 60  # characters of a consumer's or an interval's name in a folder's name


def own_columns(landing: Landing) -> dict[str, str]:
    """The columns of a landing's rows, and their texts."""
    return {CONSUMER_COLUMN: landing.interval.consumer, INTERVAL_COLUMN: landing.interval.name}


def local_path(text: str) -> Path:
    """The path of a folder that this machine has.

    Raises:
        ConfigurationError: the folder is on a file system that this machine has not mounted.
    """
    path = text.removeprefix("file://") if text.startswith("file:///") else text
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path) or not path.startswith("/"):
        raise ConfigurationError(
            f"{text!r}: a table of files needs an absolute path on a file system that is mounted here and on Spark's "
            "executors. An object store cannot rename a folder in one step, so rows of Parquet files would not appear "
            "together there: write delta:s3://bucket/path, or land into a database"
        )
    return Path(path)


@dataclass(frozen=True, slots=True)
class LocalFolder(LandingTable):
    """A table of files that Spark's executors or this process write, and this process adds.

    Args:
        path: absolute, on a file system that the driver and the executors share.

    Raises:
        ConfigurationError: the path is not on a mounted file system.
    """

    path: str

    def __post_init__(self) -> None:
        local_path(self.path)


@dataclass(frozen=True, slots=True)
class ParquetStanding(Standing):
    """A folder of intervals. A note lies beside its rows, so that it counts wherever it is found."""

    path: Path

    def notes(self) -> list[Holding]:
        """All notes.

        Raises:
            LedgerError: a note is damaged, or of another release.
        """
        return [Holding.from_json(file.read_bytes()) for file in sorted(self.path.glob(f"landing=*/{_HOLDING}"))]

    def note(self, landing: Landing) -> Holding | None:
        """The note of the interval of a landing."""
        file = self.folder_of(landing) / _HOLDING
        return Holding.from_json(file.read_bytes()) if file.exists() else None

    def counts(self, note: Holding) -> bool:
        """True: a folder that was removed took its note along."""
        del note
        return True

    def rows_of(self, landing: Landing) -> int:
        """The number of rows in the files of the interval, by their footers."""
        return StagedFiles.found_in(self.folder_of(landing)).rows

    def folder_of(self, landing: Landing) -> Path:
        """The folder of an interval. Its name is neither a number nor a date, for which readers would take it."""
        names = landing.interval.consumer, landing.interval.name
        shown = [re.sub(r"[^A-Za-z0-9.]+", "-", name)[:_LONGEST] for name in names]
        digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:12]
        return self.path / f"landing={'-'.join(shown)}-x{digest}"


@dataclass(frozen=True, slots=True)
class ParquetFolder(LocalFolder):
    """A folder of Parquet files, whose rows of one interval appear together.

    `spark.read.parquet(path)` reads it, as do pandas, PyArrow, DuckDB and Polars. They show one more column, `landing`,
    that names the interval's folder. While an interval is replaced, a reader that lists the folder may find none of its
    rows for a moment, never both.
    """

    def location(self) -> str:
        """The folder, without links."""
        return f"parquet:{local_path(self.path).resolve()}"

    def identity(self) -> str:
        """The mark of the table, which its first landing has made; the location, if there is none."""
        mark = self._work / _MARK
        return f"parquet:{mark.read_text()}" if mark.exists() else self.location()

    @contextmanager
    def standing(self) -> Iterator[ParquetStanding]:
        """The folder as it stands now."""
        yield self._standing

    def columns(self) -> TableColumns | None:
        """The columns of the rows that were landed; None: there are none."""
        file = self._work / _COLUMNS
        # A run that was killed may have noted columns, but no rows.
        return TableColumns(dict(json.loads(file.read_text()))) if file.exists() and self.holdings() else None

    def rows(self) -> dict[tuple[str, str], int]:
        """Numbers of rows by consumer and interval, counted in the files."""
        files = local_path(self.path).glob(f"landing=*/{_HOLDING}")
        held = [(Holding.from_json(file.read_bytes()), file.parent) for file in files]
        return {(each.consumer, each.interval): StagedFiles.found_in(folder).rows for each, folder in held}

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval, from the files of its folder."""
        from pravega_jobs.landing.local_rows import with_columns  # needs PyArrow

        folder = self._standing.folder_of(Landing(holding.identity, holding.range, holding.generation))
        for batch in StagedFiles.found_in(folder).batches():
            yield with_columns(batch, columns)  # columns of later landings are null

    def repair(self) -> None:
        """Bring back the rows that a run has taken away and not replaced, because it was killed between both."""
        if self._work.exists():
            with locked(self._work / "lock"):
                self._repair()

    @contextmanager
    def staged(self, rows: Rows, landing: Landing) -> Iterator[StagedFiles]:
        """Write the rows beside the table; the files are removed afterwards, if they are still there.

        Raises:
            LandingError: the table has other columns, or the folder has files that no landing has made.
        """
        columns = json.dumps(list(rows.types().items()))
        self._check_folder()
        with new_folder(self._work) as folder:
            with locked(self._work / "lock"):
                self._all_columns(columns, landing)
            staged = rows.write_files(landing, FolderLocation(folder), own_columns(landing))
            (folder / _COLUMNS).write_text(columns)
            yield staged

    def commit(self, staged: StagedFiles, landing: Landing) -> Landed:
        """Show the staged files in the table, unless it has them.

        Raises:
            LandingError: the table must not take them.
        """
        target = self._standing.folder_of(landing)
        old = self._work / f"{_OLD}{target.name}"
        with locked(self._work / "lock"):
            self._repair()
            action, held = decide(self._standing, landing)
            if held is not None:
                return Landed(action, held)
            self._mark()
            columns = staged.folder / _COLUMNS
            columns.write_text(self._all_columns(columns.read_text(), landing))
            columns.replace(self._work / _COLUMNS)
            holding = Holding.of(landing, staged.rows)
            (staged.folder / _HOLDING).write_bytes(holding.to_json())
            if action is Action.REPLACE:
                target.rename(old)
            staged.folder.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        return Landed(action, holding)

    @property
    def _work(self) -> Path:
        return local_path(self.path) / _WORK

    def _repair(self) -> None:
        """Repair while the lock is held."""
        for old in self._work.glob(f"{_OLD}*"):
            target = self._work.parent / old.name.removeprefix(_OLD)
            if target.exists():
                shutil.rmtree(old)
            else:
                old.rename(target)

    @property
    def _standing(self) -> ParquetStanding:
        return ParquetStanding(local_path(self.path))

    def _mark(self) -> None:
        """Mark the table, unless it is marked; the caller holds the lock."""
        mark = self._work / _MARK
        if not mark.exists():
            new = mark.with_suffix(".new")
            new.write_text(uuid.uuid4().hex)
            new.replace(mark)

    def _check_folder(self) -> None:
        path = local_path(self.path)
        foreign = [each.name for each in path.glob("*") if each.name != _WORK and not (each / _HOLDING).exists()]
        if foreign:
            raise LandingError(
                f"{path} has {', '.join(sorted(foreign)[:3])}, which no landing has made: land into a folder of its own"
            )

    def _all_columns(self, columns: str, landing: Landing) -> str:
        """The columns of the table and of the rows of a landing.

        Raises:
            LandingError: the table must not take these rows.
        """
        known = self.columns()
        if known is None:
            return columns
        grown = growth(landing, known, dict(json.loads(columns)))
        return json.dumps(list({**known.types, **grown.added}.items()))
