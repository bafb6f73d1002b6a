"""A table as it stands, for the rules of landings and merges: its notes, some of which do not count, and its rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pravega_jobs.landing import Holding, Landing, Standing


@dataclass(frozen=True, slots=True)
class Noted(Standing):
    """All notes of a table.

    Args:
        all_notes: the notes.
        undone: those that do not count.
        rows: the number of rows that each interval has; None: as many as were landed.
        taken: the change by others that took rows out.
    """

    all_notes: Sequence[Holding]
    undone: Collection[Holding] = ()
    rows: int | None = None
    taken: str | None = None

    def notes(self) -> Sequence[Holding]:
        return self.all_notes

    def note(self, landing: Landing) -> Holding | None:
        names = landing.interval.consumer, landing.interval.name
        return next((each for each in self.all_notes if (each.consumer, each.interval) == names), None)

    def counts(self, note: Holding) -> bool:
        return note not in self.undone

    def rows_of(self, landing: Landing) -> int:
        note = self.note(landing)
        return self.rows if self.rows is not None else note.rows if note is not None else 0

    def taken_rows(self) -> str | None:
        return self.taken
