"""Delta tables, without Spark's help: files are written first, and this process adds them to the log in one commit.

The same commit has the table's holding of the interval: see `pravega_jobs.landing.delta_holdings`.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiopravega.errors import LandingError, TableUnavailableError
from pravega_jobs.landing.delta_files import add, replace
from pravega_jobs.landing.delta_holdings import (
    DeltaHoldings,
    DeltaStanding,
    commit_properties,
    predicate,
    staged_of,
)
from pravega_jobs.landing.delta_leftovers import remove_leftovers
from pravega_jobs.landing.delta_log import is_committed, limits_of
from pravega_jobs.landing.growth import Growth, TableColumns, growth
from pravega_jobs.landing.locations import FolderLocation, StoreLocation, store_answers
from pravega_jobs.landing.parquet import LocalFolder, local_path, own_columns
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import MERGED, OWN_COLUMNS, Action, Holding, Landed, Landing, decide
from pravega_jobs.landing.staged_files import StagedFiles, count_rows, locked, new_location

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_FILES: Final = "landing-"
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class DeltaFolder(LocalFolder):
    """A Delta table in a folder or in an object store, which is made if it is missing.

    The rows of a first generation are files that Spark's executors or this process write, and whose footers are read.
    Rows that replace others pass through this process, batch by batch, since files may have been rewritten together
    with files of other intervals. In a folder, landings wait for each other, and conflicts with other writers are
    resolved by Delta's own protocol. In a store, a landing decides again after each commit that was faster.

    Args:
        path: absolute, on a file system that the driver and the executors share; or `s3://`, `gs://` or `abfss://`
            with a bucket or container, and a path.

    Raises:
        ConfigurationError: the path is neither.
    """

    def __post_init__(self) -> None:
        if self.stored.store is None:
            local_path(self.path)

    def location(self) -> str:
        """The folder, without links, or the address in the store."""
        store = self.stored.store
        return f"delta:{local_path(self.path).resolve() if store is None else store.address}"

    def identity(self) -> str:
        """The id of the table in its metadata; the location, if there is none."""
        table = self.stored.table()
        return self.location() if table is None else f"delta:{table.metadata().id}"

    @contextmanager
    def standing(self) -> Iterator[DeltaStanding]:
        """The table as it stands now."""
        yield self.stored.standing()

    def columns(self) -> TableColumns | None:
        """The columns in the table's log; None: it does not exist."""
        table = self.stored.table()
        return None if table is None else _columns(table)

    def rows(self) -> dict[tuple[str, str], int] | None:
        """Numbers of rows by consumer and interval, counted in the table. It reads these two columns.

        None: changes are merged into the table, and its rows belong to no interval.
        """
        table = self.stored.table()
        if table is None:
            return {}
        if MERGED in table.metadata().configuration:
            return None
        import pyarrow as pa

        with store_answers(f"the table {self.path}"):
            return count_rows(pa.RecordBatchReader.from_stream(table.scan(columns=list(OWN_COLUMNS))))

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval, from the files that may have some."""
        import pyarrow as pa

        table = self.stored.table()
        if table is not None:
            where = predicate(holding.consumer, holding.interval)
            for batch in pa.RecordBatchReader.from_stream(table.scan(columns=columns.names, predicate=where)):
                yield batch.select(columns.names).cast(columns)

    @contextmanager
    def staged(self, rows: Rows, landing: Landing) -> Iterator[StagedFiles]:
        """Write the rows beside the table; the files are removed afterwards, if they are still there.

        Raises:
            LandingError: the table cannot have the partitions that the landing names.
        """
        from pravega_jobs.landing.delta_partitions import split_for
        from pravega_jobs.landing.parquet_files import with_own

        own = own_columns(landing)
        split = split_for(self.stored.table(), with_own(rows.arrow_schema(), own), landing)
        with new_location(self.stored.staging(landing), str(landing.generation)) as location:
            yield rows.write_files(landing, location, own, split)

    def commit(self, staged: StagedFiles, landing: Landing) -> Landed:
        """Add the staged files to the table's log, unless it holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        from deltalake.exceptions import DeltaError

        if isinstance(staged.location, StoreLocation):
            return self._commit_in_store(staged, staged.location, landing)
        with locked(self.stored.work / "lock"):
            found = self.stored.standing()
            action, held = decide(found, landing)
            if held is not None:
                return Landed(action, held)
            holding = Holding.of(landing, staged.rows)
            try:
                table = found.table or self._made(staged)
                table = _grown(table, _check(table, staged, landing), staged)
                self.stored.write(holding, staged.folder)
                if action is Action.APPEND:
                    self._append(table, staged, holding)
                else:
                    replace(table, staged, holding, commit_properties(holding))
            except DeltaError as error:
                raise LandingError(f"{landing}: the table {self.path} was not changed: {error}") from error
            self.stored.forget_others(holding)
        return Landed(action, holding)

    @property
    def stored(self) -> DeltaHoldings:
        """The files with the holdings of the table."""
        return DeltaHoldings(self.path)

    def _commit_in_store(self, staged: StagedFiles, location: StoreLocation, landing: Landing) -> Landed:
        """Commit without a lock: of two runs that have decided on one version of the table, one fails and asks again.

        Raises:
            LandingError: the table must not take the files, or cannot.
            TableUnavailableError: the store did not answer clearly, or others were first each time.
        """
        from deltalake.exceptions import DeltaError

        run = location.address.rpartition("/")[2]
        for _ in range(_TRIES):
            found = self.stored.standing()
            action, held = decide(found, landing)
            if held is not None:
                return Landed(action, held)
            holding, since, table = Holding.of(landing, staged.rows), 0, found.table
            try:
                if table is None:
                    self._made(staged)
                    continue  # another run may have made the table, and landed: it is asked again
                since = table.version()
                grown = _check(table, staged, landing)
                if grown.added:
                    _grown(table, grown, staged)
                    continue  # other commits may have been between: the table is asked again
                older = self.stored.put(holding)
                if action is Action.APPEND:
                    location.is_taken = True
                    folder = f"{staged_of(holding.consumer, holding.interval)}/{run}"
                    add(table, staged, folder, holding, commit_properties(holding, run))
                else:
                    replace(table, staged, holding, commit_properties(holding, run))
            except (DeltaError, OSError) as error:
                if not is_committed(self.stored.table(), run, since, error, f"{landing}: the commit to {self.path}"):
                    location.is_taken = False  # another commit is in the log instead
                    continue
            self.stored.forget(older)
            remove_leftovers(self.stored, landing, location)
            return Landed(action, holding)
        raise TableUnavailableError(
            f"{landing}: {_TRIES} commits to {self.path} were refused, since others were first. Run it again"
        )

    def _made(self, staged: StagedFiles) -> "DeltaTable":
        """The table, which is made with the columns and the partitions of files, unless it exists by now."""
        from deltalake import DeltaTable

        names, limits = staged.split.names if staged.split else None, limits_of(self.path)
        return DeltaTable.create(self.path, staged.schema(), mode="ignore", partition_by=names, storage_options=limits)

    def _append(self, table: "DeltaTable", staged: StagedFiles, holding: Holding) -> None:
        """Add the files as they are. If the process is killed before the commit, VACUUM removes them one day."""
        folder = f"{_FILES}{staged.folder.name}"
        if staged.files:
            staged.location.taken(FolderLocation(local_path(self.path) / folder))
        add(table, staged, folder, holding, commit_properties(holding))


def unfit(table: "DeltaTable") -> list[str]:
    """Settings and columns of a table that files of a landing would have to follow, and cannot."""
    settings = table.metadata().configuration
    own = [
        name
        for name in settings
        if name.startswith(("delta.constraints.", "delta.setTransactionRetention"))
        or (name == "delta.columnMapping.mode" and settings[name] != "none")
    ]
    fields = json.loads(table.schema().to_json())["fields"]
    return own + [
        f"{each['name']}: {name}" for each in fields for name in each["metadata"] if name.startswith("delta.")
    ]


def _check(table: "DeltaTable", staged: StagedFiles, landing: Landing) -> Growth:
    """The columns that the table needs for files, which fit it otherwise.

    Raises:
        LandingError: it has other columns, partitions, constraints, or names of columns of its own.
    """
    from deltalake import Schema

    from pravega_jobs.landing.delta_partitions import split_for
    from pravega_jobs.landing.local_rows import types_of  # needs PyArrow
    from pravega_jobs.landing.splitting import check_split

    check_split(landing, staged.split, split_for(table, staged.schema(), landing))
    own = unfit(table)
    if own:
        raise LandingError(
            f"{landing}: the table has {', '.join(own)}, which files that are written beside it do not follow: land "
            "into a table without. Nothing was changed"
        )
    grown = growth(landing, _columns(table), types_of(staged.schema()))
    columns, found = (
        {each["name"]: each["type"] for each in json.loads(schema.to_json())["fields"]}
        for schema in (table.schema(), Schema.from_arrow(staged.schema()))
    )
    if any(columns.get(name, kind) != kind for name, kind in found.items()):
        raise LandingError(
            f"{landing}: the table has the columns {columns}, and the rows have {found}: select and cast those of the "
            "table, or change the table. Nothing was changed"
        )
    staged.check_values(_columns(table).required, landing)
    return grown


def _columns(table: "DeltaTable") -> TableColumns:
    import pyarrow as pa

    from pravega_jobs.landing.local_rows import table_columns

    return table_columns(pa.schema(table.schema().to_arrow()))


def _grown(table: "DeltaTable", grown: Growth, staged: StagedFiles) -> "DeltaTable":
    """The table with the columns that the rows need, by a commit of their own: a write of files changes none.

    A run that is killed behind it has added columns without values, which it finds when it is run again.
    """
    import pyarrow as pa
    from deltalake import DeltaTable, Schema

    if not grown.added:
        return table
    columns = pa.schema([staged.schema().field(name).with_nullable(True) for name in grown.added])
    table.alter.add_columns(Schema.from_arrow(columns).fields)
    return DeltaTable(table.table_uri, storage_options=limits_of(table.table_uri))
