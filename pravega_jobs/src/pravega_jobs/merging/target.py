"""Targets of merges: the calls by which any kind of table takes changes."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import Holding
from pravega_jobs.merging.merges import Merge, Merged
from pravega_jobs.merging.rules import DELETED_COLUMN, END_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_jobs.merging.engine.table_files import TableFile


@dataclass(frozen=True, slots=True)
class TableState:
    """The columns of a table (Arrow's types), and its rows; None: they are not known without reading it."""

    columns: "pa.Schema"
    rows: int | None

    @classmethod
    def of(cls, columns: "pa.Schema", rows: int | None) -> "TableState":
        """The state of a table whose format stores a number of rows.

        The number is dropped if the table also keeps deleted rows (`_deleted`) or closed versions of a history.
        """
        keeps_others = DELETED_COLUMN in columns.names or END_COLUMN in columns.names
        return cls(columns, None if keeps_others else rows)


class MergeTarget(Protocol):
    """A table that takes changes of an interval once."""

    def decide(self, merge: Merge, *, in_order: bool) -> Holding | None:
        """The holding of the merge's interval; None: the changes are to be merged.

        Raises:
            LandingError: the changes must not be merged.
        """
        ...

    def staged(self, rows: Rows, merge: Merge, *, shared: bool) -> AbstractContextManager[Any]:
        """Write the changes, so that readers of the table do not see them; they are there as long as the block runs.

        `shared`: True if other processes write them. What it gives is of the target's own kind.

        Raises:
            LandingError: the changes cannot be written as they are, or a table cannot have their columns.
        """
        ...

    def commit(self, staged: Any, merge: Merge, *, in_order: bool) -> Merged:
        """Merge the staged changes, unless the table holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        ...

    def state(self) -> TableState | None:
        """The columns and the number of rows, as the table's format stores them; None: the table does not exist."""
        ...

    def files(self, key: str) -> "Sequence[TableFile]":
        """The files of the table, with the bounds of a column; none, if the table does not exist."""
        ...
