"""Snapshots among changes: which one counts, and what must be known of it; how they are found is for others.

All events of a snapshot of a table have one position in the database's log. A change is from before a snapshot if its
position is, and if Debezium has read it before the snapshot. The second is not the same: PostgreSQL gives changes of a
transaction that is open while a snapshot begins the positions at which they were made, and sends them later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.metadata import SEQUENCE
from pravega_jobs.merging.rules import GHOST_COLUMNS

# The values of `source.snapshot` in the last event of a table. A table of one row that comes first has `first` only.
ENDS: Final = ("last", "last_in_data_collection")
# Snapshots of parts of a table, between its other changes.
INCREMENTAL: Final = "incremental"
# The length of an event's offset in Pravega, which stands for a position that the connector does not write.
_BYTES_OF_OFFSETS: Final = 16
_UNKNOWN: Final = "so it is not known which rows are left behind"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot among changes.

    Args:
        position: its position in the database's log (`_sequence`).
        begun: the time at which Debezium made its first event, in microseconds since 1970.
        ended: True if its last event is among the changes.
    """

    position: bytes
    begun: int
    ended: bool

    @classmethod
    def of(cls, position: bytes, begun: int | None, ended: bool) -> Self:
        """A snapshot by what its events have in common.

        Raises:
            ConfigurationError: its events have no position, or no time.
        """
        if len(position) == _BYTES_OF_OFFSETS:
            raise ConfigurationError(
                f"the events of the snapshot have no position in the database's log, {_UNKNOWN}: compare the keys with "
                "the database's"
            )
        if begun is None:
            raise ConfigurationError(f"the events of the snapshot have no time (ts_ms), {_UNKNOWN}")
        return cls(bytes(position), begun, ended)

    @classmethod
    def newest(cls, found: Self | None) -> Self:
        """The newest snapshot among changes, if it has ended.

        Raises:
            ConfigurationError: there is none, or it has not ended.
        """
        if found is None:
            raise ConfigurationError(f"the changes have no snapshot, {_UNKNOWN}: read the stream from its head")
        if not found.ended:
            raise ConfigurationError(
                f"the newest snapshot has no event that says last or last_in_data_collection, {_UNKNOWN}: wait until "
                "Debezium has written it, and read to a later cut. If it has, the table had one row and came first, "
                "which says nothing of its end: compare it with the database"
            )
        return found


def check_ghost_columns(columns: Sequence[str]) -> None:
    """Refuse changes that lack a column by which snapshots are found.

    Raises:
        ConfigurationError: a column is missing.
    """
    lacking = [name for name in (*GHOST_COLUMNS, SEQUENCE) if name not in columns]
    if lacking:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking)}: ask for it in .schema(…), or with option "
            "'metadata_columns'"
        )
