"""What a merged table is now: its columns, and how many rows it has, by what the table's own format notes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.targets import LandingTable
from pravega_jobs.merging.rules import DELETED_COLUMN, END_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa

_RECORDS: Final = "total-records"
_DELETES: Final = "total-position-deletes", "total-equality-deletes"


@dataclass(frozen=True, slots=True)
class TableState:
    """The columns of a table (Arrow's types), and its rows; None: they are not known without reading it."""

    columns: "pa.Schema"
    rows: int | None


def state_of(table: LandingTable) -> TableState | None:
    """What a table of Delta or Iceberg is now; None: there is none. No file of rows is read.

    The rows are not known if those that are no more stay in the table (`_deleted`, or closed versions of a history), or
    if the format does not note their number.

    Raises:
        PravegaError: the table cannot be asked.
    """
    if isinstance(table, DeltaFolder):
        return _delta(table)
    return _iceberg(table) if isinstance(table, Iceberg) else None


def _delta(folder: DeltaFolder) -> TableState | None:
    import pyarrow as pa

    from pravega_jobs.merging.columns import file_schema

    table = folder.notes.table()
    if table is None:
        return None
    columns = file_schema(pa.schema(table.schema().to_arrow()))
    files = pa.table(table.get_add_actions(flatten=True))
    counts = files["num_records"].to_pylist() if "num_records" in files.column_names else [None]
    known = None not in counts and _keeps_none(columns)
    return TableState(columns, sum(counts) if known else None)


def _iceberg(named: Iceberg) -> TableState | None:
    from pravega_jobs.merging.columns import file_schema

    table = named.table()
    if table is None:
        return None
    columns = file_schema(table.schema().as_arrow())
    snapshot = table.current_snapshot()
    summary = None if snapshot is None else snapshot.summary
    count = None if summary is None else summary[_RECORDS]
    others = any(summary is not None and int(summary[name] or 0) for name in _DELETES)
    known = count is not None and not others and _keeps_none(columns)
    return TableState(columns, int(count) if known and count is not None else None)


def _keeps_none(columns: "pa.Schema") -> bool:
    """Whether the table has no rows but those that the database has."""
    return DELETED_COLUMN not in columns.names and END_COLUMN not in columns.names
