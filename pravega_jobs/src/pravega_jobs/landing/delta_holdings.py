"""Holdings of a Delta table: two application transactions of each interval, and a note of its range in a file.

One transaction names the interval, with its generation as the version; the other one names the interval with its range.
They stay in the table when the log is cleaned and files are rewritten. A note is written before its commit; it is valid
only if the table has its transactions.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import Holding, Landing
from pravega_jobs.landing.table_kind import Library

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Delta and its VACUUM ignore folders whose names begin like this.
_WORK: Final = "_landing"
_APPLICATION: Final = "pravega landing"
DELTALAKE: Final = Library("deltalake", "delta")


@dataclass(frozen=True, slots=True)
class DeltaHoldings:
    """The holdings of the Delta table in a folder.

    Args:
        path: the folder of the table.
    """

    path: str

    @property
    def work(self) -> Path:
        """The folder of the notes, of the lock, and of files that are not in the table yet."""
        return local_path(self.path) / _WORK

    def table(self) -> "DeltaTable | None":
        """The table as it is now.

        Raises:
            ConfigurationError: `deltalake` is not installed.
        """
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise DELTALAKE.missing("Delta tables") from None
        return DeltaTable(self.path) if DeltaTable.is_deltatable(self.path) else None

    def holdings(self, table: "DeltaTable | None") -> list[Holding]:
        """The holdings of the table.

        Raises:
            LedgerError: a note is damaged, or of another release.
        """
        files = sorted(self.work.glob("*.json")) if table is not None else []
        notes = sorted((Holding.from_json(file.read_bytes()) for file in files), key=lambda note: note.landed_at)
        # A run that was killed before its commit may have left a note like that of the run that repeated it.
        found = {each.identity: each for each in notes if table is not None and _counts(table, each)}
        return list(found.values())

    def held(self, table: "DeltaTable | None", landing: Landing) -> Holding | None:
        """The holding of the interval of a landing; None: the table does not have the interval.

        Raises:
            LandingError: the table's log has a landing of the interval, but its note is gone.
        """
        version = None if table is None else table.transaction_version(_interval_id(*_names(landing)))
        if table is None or version is None:
            return None
        for file in self.work.glob(f"{_digest(*_names(landing))}-*.json"):
            note = Holding.from_json(file.read_bytes())
            if note.generation == version and _counts(table, note):
                return note
        raise LandingError(
            f"{landing}: the log of {self.path} has generation {version} of it, and {self.work} has no note of its "
            "range. Restore that folder, or remove the rows and land into a new table. Nothing was changed"
        )

    def write(self, holding: Holding, folder: Path) -> None:
        """Write the note of a landing whose files are in a folder: it is there whole, or not at all."""
        whole = folder / "note"
        whole.write_bytes(holding.to_json())
        whole.replace(self.work / f"{_digest(holding.consumer, holding.interval)}-{folder.name}.json")

    def forget_others(self, holding: Holding) -> None:
        """Remove the other notes of an interval that was landed just now: older notes, and notes of killed runs."""
        for file in self.work.glob(f"{_digest(holding.consumer, holding.interval)}-*.json"):
            if Holding.from_json(file.read_bytes()) != holding:
                file.unlink()


def commit_properties(holding: Holding) -> Any:
    """The transactions of a landing, for its commit."""
    from deltalake import CommitProperties, Transaction

    ids = _interval_id(holding.consumer, holding.interval), _range_id(holding)
    return CommitProperties(
        custom_metadata={"pravega": json.loads(holding.model_dump_json())},
        app_transactions=[Transaction(each, holding.generation) for each in ids],
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
    """True if the table has the transactions of a note, which was written before its commit: that may have failed."""
    ids = _interval_id(note.consumer, note.interval), _range_id(note)
    return all(table.transaction_version(each) == note.generation for each in ids)
