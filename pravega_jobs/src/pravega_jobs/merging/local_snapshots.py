"""Snapshots among the changes of a table in DuckDB: the newest one, and the changes from before it, as queries.

`snapshot_frames` has the same for Spark. `changes` is the name of their table, or a query in parentheses.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pravega_jobs.debezium.changes.metadata import SEQUENCE
from pravega_jobs.merging.snapshots import ENDS, INCREMENTAL, Snapshot, check_ghost_columns

if TYPE_CHECKING:
    import duckdb

# The time at which Debezium has read a change, in microseconds since 1970.
_TAKEN: Final = "epoch_us(cast(_ingested_at as timestamptz))"


class LocalSnapshot(Snapshot):
    """A snapshot among the changes of a table."""

    __slots__ = ()

    def applied(self, changes: str) -> str:
        """The changes that are not from before the snapshot: rows of older changes are in the snapshot, or gone.

        A change that came after the snapshot with an older position gets the snapshot's position, followed by its own,
        so that it sorts after the snapshot.
        """
        older = f"{SEQUENCE} < {self._literal}"
        later = f"case when {older} then {self._literal} || {SEQUENCE} else {SEQUENCE} end"
        outdated = f"coalesce({older} and {_TAKEN} < {self.begun}, false)"
        return f"(select * replace ({later} as {SEQUENCE}) from {changes} where not {outdated})"

    def plain(self, changes: str) -> str:
        """Reduced changes with positions of one length: the snapshot's position instead of two that were joined."""
        begins = f"starts_with(hex({SEQUENCE}), '{self.position.hex().upper()}')"
        own = f"case when {begins} then {self._literal} else {SEQUENCE} end"
        return f"select * replace ({own} as {SEQUENCE}) from ({changes})"

    @property
    def _literal(self) -> str:
        return f"unhex('{self.position.hex()}')"


def newest_snapshot(
    database: "duckdb.DuckDBPyConnection", changes: str, columns: Sequence[str], *, whole: bool = False
) -> LocalSnapshot | None:
    """The newest snapshot among changes; None: there is none.

    Args:
        database: has the changes of one table.
        changes: the name of their table there.
        columns: the names of their columns.
        whole: whether a snapshot that has ended comes before newer ones that have not.

    Raises:
        ConfigurationError: a column is missing, or the events of the snapshot have no position or time.
    """
    check_ghost_columns(columns)
    ends = ", ".join(f"'{each}'" for each in ENDS)
    found = database.sql(
        f"select {SEQUENCE}, min({_TAKEN}), max(coalesce(_snapshot in ({ends}), false)) as ended from {changes} "
        f"where _op = 'r' and _snapshot is distinct from '{INCREMENTAL}' group by {SEQUENCE} "
        f"order by {'ended desc, ' if whole else ''}{SEQUENCE} desc nulls last limit 1"
    ).fetchall()
    return LocalSnapshot.of(*found[0]) if found else None
