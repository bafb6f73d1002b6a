"""Iceberg tables as they stand: notes in their properties, and the snapshots that have led to the current one.

Snapshots expire; properties stay. They also stay when the table is rolled back: a note counts only if its snapshot is
an ancestor of the current one, or has expired.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from pravega_jobs.landing.locations import store_answers
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

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_NOTE: Final = "pravega.landing."
# In the summary of a snapshot: the note of its landing, or of its merge.
LANDED_IN_SNAPSHOT: Final = "pravega.landing"
MERGED_IN_SNAPSHOT: Final = "pravega.merge"


@dataclass(frozen=True, slots=True)
class IcebergStanding(Standing):
    """A table of Iceberg as it stands at one moment.

    Args:
        table: the table; None: there is none.
        undone: the texts of notes whose snapshots are not ancestors of the current one.
    """

    table: "Table | None"
    undone: frozenset[str]

    @classmethod
    def of(cls, table: "Table | None") -> Self:
        """The table as it was loaded."""
        if table is None:
            return cls(None, frozenset())
        there = {note for each in _ancestors(table) for note in _own_notes(each)}
        return cls(table, frozenset(note for each in table.snapshots() for note in _own_notes(each)) - there)

    def notes(self) -> list[Holding]:
        """All notes in the table's properties."""
        found = {} if self.table is None else self.table.properties
        return [Holding.from_json(found[name].encode()) for name in sorted(found) if name.startswith(_NOTE)]

    def note(self, landing: Landing) -> Holding | None:
        """The note of the interval of a landing."""
        name = note_name(landing.interval.consumer, landing.interval.name)
        text = None if self.table is None else self.table.properties.get(name)
        return None if text is None else Holding.from_json(text.encode())

    def counts(self, note: Holding) -> bool:
        """True if the snapshot of a note is an ancestor of the current one, or has expired."""
        return note.to_json().decode() not in self.undone

    def rows_of(self, landing: Landing) -> int:
        """The number of rows of the interval. Of the files that may have some, it reads two columns.

        Raises:
            LandingError: changes are merged into the table.
        """
        if self.table is None:
            return 0
        if MERGED in self.table.properties:
            raise not_of_intervals(landing)
        where = interval_filter(landing.interval.consumer, landing.interval.name)
        with store_answers(f"{landing}: the table"):
            return self.table.scan(row_filter=where, selected_fields=OWN_COLUMNS).count()

    def taken_rows(self) -> str | None:
        """The newest snapshot by others since the last landing or merge that took rows out; None: none, or accepted."""
        from pyiceberg.table.snapshots import Operation

        if self.table is None:
            return None
        for each in _ancestors(self.table):
            if str(each.snapshot_id) == self.table.properties.get(ACCEPTED) or _own_notes(each):
                return None
            operation = None if each.summary is None else each.summary.operation
            if operation in (Operation.DELETE, Operation.OVERWRITE):
                now = self.table.metadata.current_snapshot_id
                return taken_by(f"{operation.value} in snapshot {each.snapshot_id}", now)
        return None


def note_name(consumer: str, interval: str) -> str:
    """The name of the property with the holding of an interval."""
    return _NOTE + hashlib.sha256(json.dumps([consumer, interval]).encode()).hexdigest()[:24]


def interval_filter(consumer: str, interval: str) -> Any:
    """The rows of an interval."""
    from pyiceberg.expressions import And, EqualTo

    equal: Any = EqualTo  # its types do not know its positional arguments
    first, second = (equal(name, text) for name, text in zip(OWN_COLUMNS, (consumer, interval), strict=True))
    return And(first, second)


def _ancestors(table: "Table") -> "Iterator[Snapshot]":
    from pyiceberg.table.snapshots import ancestors_of

    yield from ancestors_of(table.current_snapshot(), table.metadata)


def _own_notes(snapshot: "Snapshot") -> list[str]:
    """The notes of landings and merges in the summary of a snapshot."""
    found = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return [found[name] for name in (LANDED_IN_SNAPSHOT, MERGED_IN_SNAPSHOT) if name in found]
