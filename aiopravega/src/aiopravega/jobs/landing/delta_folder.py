"""A Delta table, without Spark's help: executors write files, and this process adds them to the log in one commit.

The commit has two application transactions. One names the interval, with its generation as the version; the other one
names the interval with its range. They stay in the table when the log is cleaned and files are rewritten, and say what
it holds. A file for each landing lists the intervals; it counts only if the table has its transactions.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.jobs.landing.parquet_folder import local_path, own_columns
from aiopravega.jobs.landing.row_counts import count_rows
from aiopravega.jobs.landing.rules import OWN_COLUMNS, Action, Holding, Landed, Landing, decide
from aiopravega.jobs.landing.staged_files import StagedFiles, locked, new_folder, write_files

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame

# Delta ignores folders whose names begin like this, and VACUUM does, too.
_WORK: Final = "_landing"
_FILES: Final = "landing-"
_APPLICATION: Final = "pravega landing"
_MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class DeltaFolder:
    """A Delta table in a folder, which is made if it is missing.

    The rows of a first generation are files that Spark's executors write; this process reads their footers. Rows that
    replace others pass through this process, batch by batch, since files may have been rewritten together with those of
    other intervals. Landings wait for each other; with other writers Delta's own protocol decides.

    Args:
        path: absolute, on a file system that the driver and the executors share.

    Raises:
        ConfigurationError: the path is none of a mounted file system.
    """

    path: str

    def __post_init__(self) -> None:
        local_path(self.path)

    def holdings(self) -> list[Holding]:
        """What the table holds; nothing, if there is no such table.

        Raises:
            LedgerError: a note is damaged, or of another release.
        """
        table = self._table()
        files = sorted(self._work.glob("*.json")) if table is not None else []
        notes = [Holding.from_json(file.read_bytes()) for file in files]
        return [each for each in notes if table is not None and _counts(table, each)]

    def held(self, landing: Landing) -> Holding | None:
        """What the table holds of the interval of a landing.

        Raises:
            LandingError: the table's log has a landing of the interval, but its note is gone.
        """
        table = self._table()
        version = None if table is None else table.transaction_version(_interval_id(*_names(landing)))
        if table is None or version is None:
            return None
        for file in self._work.glob(f"{_digest(*_names(landing))}-*.json"):
            note = Holding.from_json(file.read_bytes())
            if note.generation == version and _counts(table, note):
                return note
        raise LandingError(
            f"{landing}: the log of {self.path} has generation {version} of it, and {self._work} has no note of its "
            "range. Restore that folder, or remove the rows and land into a new table. Nothing was changed"
        )

    def rows(self) -> dict[tuple[str, str], int]:
        """The rows that are there, by consumer and interval, whatever was noted. It reads these two columns."""
        table = self._table()
        if table is None:
            return {}
        import pyarrow as pa

        return count_rows(pa.RecordBatchReader.from_stream(table.scan(columns=list(OWN_COLUMNS))))

    @contextmanager
    def staged(self, frame: "DataFrame", landing: Landing) -> Iterator[StagedFiles]:
        """Have Spark write the rows beside the table; the files are removed afterwards, if they are still there."""
        with new_folder(self._work) as folder:
            yield write_files(frame, landing, folder, own_columns(landing))

    def commit(self, staged: StagedFiles, landing: Landing) -> Landed:
        """Add the staged files to the table's log, unless it holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        with locked(self._work / "lock"):
            held = self.held(landing)
            action = decide(held, landing)
            if held is not None and action is Action.NOTHING:
                return Landed(action, held)
            holding = Holding.of(landing, staged.rows)
            note = self._work / f"{_digest(*_names(landing))}-{staged.folder.name}.json"
            try:
                table = self._table() or DeltaTable.create(self.path, staged.schema(), mode="ignore")
                _check(table, staged, landing)
                whole = staged.folder / "note"  # a note is there whole, or not at all
                whole.write_bytes(holding.to_json())
                whole.replace(note)
                if action is Action.APPEND:
                    self._append(table, staged, holding)
                else:
                    _replace(table, staged, holding)
            except DeltaError as error:
                raise LandingError(f"{landing}: the table {self.path} was not changed: {error}") from error
            self._forget_old_notes(holding)
        return Landed(action, holding)

    @property
    def _work(self) -> Path:
        return local_path(self.path) / _WORK

    def _table(self) -> "DeltaTable | None":
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise ConfigurationError("Delta tables need deltalake: pip install 'aiopravega[delta]'") from None
        return DeltaTable(self.path) if DeltaTable.is_deltatable(self.path) else None

    def _append(self, table: "DeltaTable", staged: StagedFiles, holding: Holding) -> None:
        """Add the files as they are. If the process is killed before the commit, VACUUM removes them one day."""
        from deltalake.transaction import AddAction, RemoveAction

        folder = local_path(self.path) / f"{_FILES}{staged.folder.name}"
        staged.folder.rename(folder)
        own = dict(zip(OWN_COLUMNS, (holding.consumer, holding.interval), strict=True))
        actions: list[AddAction | RemoveAction] = [
            AddAction(
                path=f"{folder.name}/{file.name}",
                size=(folder / file.name).stat().st_size,
                partition_values={},
                modification_time=int(time.time() * _MILLISECONDS),
                data_change=True,
                stats=json.dumps({"numRecords": rows, "minValues": own, "maxValues": own}),
            )
            for file, rows in zip(staged.files, staged.row_counts, strict=True)
        ]
        table.create_write_transaction(
            actions, mode="append", schema=table.schema(), commit_properties=_properties(holding)
        )

    def _forget_old_notes(self, holding: Holding) -> None:
        """Remove the notes of an interval that no transaction of the table stands for any more."""
        table = self._table()
        for file in self._work.glob(f"{_digest(holding.consumer, holding.interval)}-*.json"):
            if table is not None and not _counts(table, Holding.from_json(file.read_bytes())):
                file.unlink()


def _replace(table: "DeltaTable", staged: StagedFiles, holding: Holding) -> None:
    """Write the rows, and remove those that the interval has, in one commit."""
    from deltalake import write_deltalake

    own = dict(zip(OWN_COLUMNS, (holding.consumer, holding.interval), strict=True))
    texts = {name: text.replace("'", "''") for name, text in own.items()}
    write_deltalake(
        table,
        staged.batches(),
        mode="overwrite",
        predicate=" and ".join(f"{name} = '{text}'" for name, text in texts.items()),
        commit_properties=_properties(holding),
    )


def _names(landing: Landing) -> tuple[str, str]:
    return landing.interval.consumer, landing.interval.name


def _digest(consumer: str, interval: str) -> str:
    return hashlib.sha256(json.dumps([consumer, interval]).encode()).hexdigest()[:24]


def _interval_id(consumer: str, interval: str) -> str:
    return f"{_APPLICATION} {json.dumps([consumer, interval])}"


def _range_id(holding: Holding) -> str:
    cuts = holding.consumer, holding.interval, str(holding.stream), holding.start, holding.end, holding.rows
    return f"{_APPLICATION} of a range {json.dumps(cuts)}"


def _counts(table: "DeltaTable", note: Holding) -> bool:
    """Whether the table has the transactions of a note: it was written before its commit, which may never have been."""
    ids = _interval_id(note.consumer, note.interval), _range_id(note)
    return all(table.transaction_version(each) == note.generation for each in ids)


def _properties(holding: Holding) -> Any:
    from deltalake import CommitProperties, Transaction

    ids = _interval_id(holding.consumer, holding.interval), _range_id(holding)
    return CommitProperties(
        custom_metadata={"pravega": json.loads(holding.model_dump_json())},
        app_transactions=[Transaction(each, holding.generation) for each in ids],
    )


def _check(table: "DeltaTable", staged: StagedFiles, landing: Landing) -> None:
    """Check that files written by Spark are what the table's files must be.

    Raises:
        LandingError: it has other columns, partitions, constraints, or names of columns of its own.
    """
    from deltalake import Schema

    settings = table.metadata().configuration
    own = [
        name
        for name in settings
        if name.startswith(("delta.constraints.", "delta.setTransactionRetention"))
        or (name == "delta.columnMapping.mode" and settings[name] != "none")
    ]
    if table.metadata().partition_columns:
        own.append("partitions")
    fields = json.loads(table.schema().to_json())["fields"]
    own += [f"{each['name']}: {name}" for each in fields for name in each["metadata"] if name.startswith("delta.")]
    if own:
        raise LandingError(
            f"{landing}: the table has {', '.join(own)}, which files that Spark has written do not follow: land into a "
            "table without. Nothing was changed"
        )
    columns = {each["name"]: each["type"] for each in fields}
    found = {each["name"]: each["type"] for each in json.loads(Schema.from_arrow(staged.schema()).to_json())["fields"]}
    if columns != found:
        raise LandingError(
            f"{landing}: the table has the columns {columns}, and the rows have {found}: select and cast those of the "
            "table, or change the table. Nothing was changed"
        )
