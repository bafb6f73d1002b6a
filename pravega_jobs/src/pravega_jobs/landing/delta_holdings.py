"""Holdings of a Delta table: two application transactions of each interval, and a note of its range in a file.

One transaction names the interval, with its generation as the version; the other one names the interval with its range.
They stay in the table when the log is cleaned and files are rewritten. A note is written before its commit; it is valid
only if the table has its transactions. They also stay when the table is restored or replaced: a note counts only if the
commit with its transactions is in the history of the table.

Notes in a folder belong to one run each. Notes in a store have names by their contents, so that two runs of one
interval write the same note; after a commit, only notes that were there before it, of older generations, are removed.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.delta_log import RUN, DeltaLog, limits_of
from pravega_jobs.landing.locations import (
    FolderLocation,
    Location,
    StoreLocation,
    in_store,
    store_answers,
    store_location,
)
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import (
    ACCEPTED,
    MERGED,
    OWN_COLUMNS,
    Holding,
    Landing,
    Standing,
    not_of_intervals,
    taken_by,
)
from pravega_jobs.landing.store_conditions import conditional
from pravega_jobs.landing.table_kind import Library

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Delta and its VACUUM ignore folders whose names begin like this.
_WORK: Final = "_landing"
LOG: Final = "_delta_log"
_NOTE: Final = ".json"
# In a store: the prefix of an interval, and in it one of each run, which begins with the generation.
_STAGED_FILE: Final = re.compile(r"(landing-[0-9a-f]{24})/([0-9]+)-[0-9a-f]{32}/.+")
_APPLICATION: Final = "pravega landing"
DELTALAKE: Final = Library("deltalake", "delta")


@dataclass(frozen=True, slots=True)
class DeltaHoldings:
    """The holdings of the Delta table in a folder, or in an object store.

    Args:
        path: the folder of the table, or its address in a store.
    """

    path: str

    @property
    def store(self) -> StoreLocation | None:
        """The location of a table in a store; None: it is in a folder."""
        return store_location(self.path) if in_store(self.path) else None

    @property
    def work(self) -> Path:
        """The folder of the notes, of the lock, and of files that are not in the table yet."""
        return local_path(self.path) / _WORK

    @property
    def root(self) -> Location:
        """The folder of the table, or its prefix in a store."""
        return self.store or FolderLocation(local_path(self.path))

    def staging(self, landing: Landing) -> Location:
        """The location in which runs of a landing stage files: in a store, a prefix of its interval.

        There each run has a prefix whose name begins with its generation. `staged_by` reads these names.

        Raises:
            ConfigurationError: the store would lose one of two commits.
        """
        store, name = self.store, staged_of(landing.interval.consumer, landing.interval.name)
        return FolderLocation(self.work) if store is None else conditional(store).child(name)

    def table(self) -> "DeltaTable | None":
        """The table as it is now.

        Raises:
            ConfigurationError: `deltalake` is not installed.
            TableUnavailableError: the store cannot be asked.
        """
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise DELTALAKE.missing("Delta tables") from None
        limits = limits_of(self.path)
        try:
            exists = DeltaTable.is_deltatable(self.path, storage_options=limits)
            return DeltaTable(self.path, storage_options=limits) if exists else None
        except OSError as error:
            raise TableUnavailableError(f"the table {self.path} cannot be read: {error}") from error

    def standing(self) -> "DeltaStanding":
        """The table as it stands now.

        Raises:
            ConfigurationError: `deltalake` is not installed.
        """
        table = self.table()
        return DeltaStanding(self, table, None if table is None else DeltaLog(self.root.child(LOG), table))

    def notes(self, names: tuple[str, str] | None = None) -> list[Holding]:
        """All notes, or the notes of one interval of a consumer, also of commits that failed.

        Raises:
            LedgerError: a note is damaged, or of another release.
        """
        begin = "" if names is None else f"{_digest(*names)}-"
        if self.store is None:
            found = [file.read_bytes() for file in sorted(self.work.glob(f"{begin}*.json"))]
        else:
            work = self.store.child(_WORK)
            found = work.get_all([each for each in work.names() if each.startswith(begin) and each.endswith(_NOTE)])
        return [Holding.from_json(each) for each in found]

    def write(self, holding: Holding, folder: Path) -> None:
        """Write the note of a landing whose files are in a folder: it is there whole, or not at all."""
        whole = folder / "note"
        whole.write_bytes(holding.to_json())
        whole.replace(self.work / f"{_digest(holding.consumer, holding.interval)}-{folder.name}{_NOTE}")

    def put(self, holding: Holding) -> list[Holding]:
        """Write the note of a landing into the store, unless it is there; returns the older notes of the interval.

        Generations below that of the landing are older: once it is committed, their runs cannot commit any more.
        """
        assert self.store is not None
        names = holding.consumer, holding.interval
        older = [each for each in self.notes(names) if each.generation < holding.generation]
        work, name = self.store.child(_WORK), _note_name(holding)
        if work.get(name) is None:
            work.put(name, holding.to_json())
        return older

    def forget(self, notes: list[Holding]) -> None:
        """Remove notes from the store."""
        assert self.store is not None
        self.store.child(_WORK).remove([_note_name(each) for each in notes])

    def forget_others(self, holding: Holding) -> None:
        """Remove the other notes of an interval that was landed just now: older notes, and notes of killed runs."""
        for file in self.work.glob(f"{_digest(holding.consumer, holding.interval)}-*.json"):
            if Holding.from_json(file.read_bytes()) != holding:
                file.unlink()


@dataclass(frozen=True, slots=True)
class DeltaStanding(Standing):
    """A Delta table as it stands at one moment; None: there is none.

    Args:
        stored: the files with its notes.
        table: the table.
        log: its history.
    """

    stored: DeltaHoldings
    table: "DeltaTable | None"
    log: DeltaLog | None

    def notes(self) -> list[Holding]:
        """All notes whose transactions the table has.

        Raises:
            LedgerError: a note is damaged, or of another release.
        """
        notes = sorted(self.stored.notes() if self.table is not None else [], key=lambda note: note.landed_at)
        # A run that was killed before its commit may have left a note like that of the run that repeated it.
        return list({each.identity: each for each in notes if self._has_transactions(each)}.values())

    def note(self, landing: Landing) -> Holding | None:
        """The note of the interval of a landing.

        Raises:
            LandingError: the table's log has a landing of the interval, but its note is gone.
        """
        names = landing.interval.consumer, landing.interval.name
        version = None if self.table is None else self.table.transaction_version(_interval_id(*names))
        if version is None:
            return None
        for note in self.stored.notes(names):
            if note.generation == version and self._has_transactions(note):
                return note
        raise LandingError(
            f"{landing}: the log of {self.stored.path} has generation {version} of it, and {_WORK} in it has no "
            "note of its range. Restore that folder, or remove the rows and land into a new table. Nothing was changed"
        )

    def counts(self, note: Holding) -> bool:
        """True if the commit of a note is in the table's history, or was, before its log was cleaned."""
        return self.log is not None and self.log.has((_range_id(note), note.generation))

    def rows_of(self, landing: Landing) -> int:
        """The number of rows of the interval. Of the files that may have some, it reads two columns.

        Raises:
            LandingError: changes are merged into the table.
        """
        if self.table is None:
            return 0
        if MERGED in self.table.metadata().configuration:
            raise not_of_intervals(landing)
        where = predicate(landing.interval.consumer, landing.interval.name)
        with store_answers(f"{landing}: the table {self.stored.path}"):
            return sum(batch.num_rows for batch in self.table.scan(columns=list(OWN_COLUMNS), predicate=where))

    def taken_rows(self) -> str | None:
        """The newest commit by others since the last landing or merge that took rows out; None: none, or accepted."""
        if self.table is None or self.log is None:
            return None
        accepted = int(self.table.metadata().configuration.get(ACCEPTED, -1))
        for commit in self.log.history():
            if commit.version <= accepted or any(name.startswith(_APPLICATION) for name, _ in commit.transactions):
                return None
            if commit.takes_rows and commit.restored is None:
                return taken_by(f"{commit.operation} in version {commit.version}", self.table.version())
        return None

    def _has_transactions(self, note: Holding) -> bool:
        """True if the table has the transactions of a note, which was written before its commit: it may have failed."""
        ids = _interval_id(note.consumer, note.interval), _range_id(note)
        table = self.table
        return table is not None and all(table.transaction_version(each) == note.generation for each in ids)


def predicate(consumer: str, interval: str) -> str:
    """The rows of an interval, as a condition of SQL."""
    own = zip(OWN_COLUMNS, (consumer, interval), strict=True)
    return " and ".join(f"{name} = '{text.replace(chr(39), chr(39) * 2)}'" for name, text in own)


def staged_by(name: str) -> tuple[str, int] | None:
    """The name of the interval's prefix and the generation of the run that has staged a file; None: it is none of ours.

    Args:
        name: the path of a file in the store of a table.
    """
    found = _STAGED_FILE.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))


def staged_of(consumer: str, interval: str) -> str:
    """The name of the prefix in which runs of an interval stage files."""
    return f"landing-{_digest(consumer, interval)}"


def commit_properties(holding: Holding, run: str | None = None) -> Any:
    """The transactions of a landing, for its commit.

    Args:
        holding: the landing.
        run: the name of a run that holds no lock. Its commit fails when any other commit was first, since what the
            table may take was decided before it; the name is in the log, so that the run finds its commit.
    """
    from deltalake import CommitProperties, Transaction

    ids = _interval_id(holding.consumer, holding.interval), _range_id(holding)
    return CommitProperties(
        custom_metadata={"pravega": json.loads(holding.plain_json())} | ({} if run is None else {RUN: run}),
        max_commit_retries=None if run is None else 0,
        app_transactions=[Transaction(each, holding.generation) for each in ids],
    )


def _digest(consumer: str, interval: str) -> str:
    return hashlib.sha256(json.dumps([consumer, interval]).encode()).hexdigest()[:24]


def _note_name(holding: Holding) -> str:
    about = hashlib.sha256(_range_id(holding).encode()).hexdigest()[:24]
    return f"{_digest(holding.consumer, holding.interval)}-{holding.generation}-{about}{_NOTE}"


def _interval_id(consumer: str, interval: str) -> str:
    return f"{_APPLICATION} {json.dumps([consumer, interval])}"


def _range_id(holding: Holding) -> str:
    own = holding.consumer, holding.interval, str(holding.stream)
    cuts: tuple[object, ...] = (*own, holding.start, holding.end, holding.rows)
    if holding.errors is not None:  # two runs with other errors must not take each other's notes for their own
        cuts = (*cuts, holding.errors.table, holding.errors.interval)
    return f"{_APPLICATION} of a range {json.dumps(cuts)}"
