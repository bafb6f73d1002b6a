"""Iceberg tables, without Spark's help: files are written first, and this process adds them in one commit.

The holding of an interval is in the table's properties, which change in the same commit as its rows, and in the summary
of the snapshot: see `pravega_jobs.landing.iceberg_standing`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing.growth import Growth, TableColumns, growth
from pravega_jobs.landing.iceberg_files import check_same_table, remove_abandoned, remove_staged, staging_of, taken
from pravega_jobs.landing.iceberg_standing import LANDED_IN_SNAPSHOT, IcebergStanding, interval_filter, note_name
from pravega_jobs.landing.locations import Location, store_answers
from pravega_jobs.landing.parquet import own_columns
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import MERGED, OWN_COLUMNS, Action, Holding, Landed, Landing, decide
from pravega_jobs.landing.staged_files import StagedFiles, count_rows, new_location
from pravega_jobs.landing.table_kind import LandingTable, Library

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from pravega_jobs.landing.splitting import Split

PYICEBERG: Final = Library("pyiceberg", "iceberg")
# pyiceberg tries a commit again that lost a race, without asking whether the table holds the interval by now.
_RETRIES: Final = "commit.retry.num-retries"
_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Iceberg(LandingTable):
    """An Iceberg table, which is made if it is missing; its namespace must exist.

    Rows are files that Spark's executors or this process write, and whose footers are read. Rows that are replaced are
    removed by pyiceberg in this process, with their files, or by a rewrite of files that also have rows of other
    intervals.

    Args:
        identifier: `namespace.table`.
        catalog: the catalog's name in the configuration of pyiceberg.
        properties: properties of the catalog, instead of the configuration or over it.

    Raises:
        ConfigurationError: the identifier has no namespace.
    """

    identifier: str
    catalog: str = "default"
    properties: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        if not all(self.identifier.split(".")) or "." not in self.identifier:
            raise ConfigurationError(f"{self.identifier!r} is not the name of a table of Iceberg: namespace.table")

    def location(self) -> str:
        """The name of the table in its catalog."""
        return f"iceberg:{self.catalog}/{self.identifier}"

    def identity(self) -> str:
        """The UUID of the table; the location, if there is none."""
        table = self.table()
        return self.location() if table is None else f"iceberg:{table.metadata.table_uuid}"

    @contextmanager
    def standing(self) -> Iterator[IcebergStanding]:
        """The table as it stands now."""
        yield IcebergStanding.of(self.table())

    def columns(self) -> TableColumns | None:
        """The columns of the table's schema; None: it does not exist."""
        table = self.table()
        return None if table is None else _columns(table)

    def rows(self) -> dict[tuple[str, str], int] | None:
        """Numbers of rows by consumer and interval, counted in the table. It reads these two columns.

        None: changes are merged into the table, and its rows belong to no interval.
        """
        table = self.table()
        if table is None:
            return {}
        if MERGED in table.properties:
            return None
        with store_answers(f"the table {self.identifier}"):
            return count_rows(table.scan(selected_fields=OWN_COLUMNS).to_arrow_batch_reader())

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval, from the files that may have some."""
        table = self.table()
        if table is not None:
            where = interval_filter(holding.consumer, holding.interval)
            found = table.scan(row_filter=where, selected_fields=tuple(columns.names)).to_arrow_batch_reader()
            for batch in found:
                yield batch.select(columns.names).cast(columns)

    @contextmanager
    def staged(self, rows: Rows, landing: Landing) -> Iterator[StagedFiles]:
        """Write the rows at the location of the table; they are removed afterwards, unless they are its own.

        Raises:
            LandingError: a table of Iceberg cannot have these columns.
        """
        with self.new_staging(rows.arrow_schema(), landing) as (location, split):
            yield rows.write_files(landing, location, own_columns(landing), split)

    @contextmanager
    def new_staging(self, columns: "pa.Schema", landing: Landing) -> "Iterator[tuple[Location, Split | None]]":
        """A new location beside the table's files, for as long as the block runs, and the partitions of the table.

        The table is made if it is missing.

        Raises:
            LandingError: the table cannot have these columns, or has others.
        """
        wanted = _schema(columns)
        table = self.table() or self.make_table(wanted, landing)
        from pravega_jobs.landing.iceberg_partitions import split_of  # needs pyiceberg, for which the table was asked

        _growth(landing, table, wanted)
        split = split_of(table.metadata, landing)
        with new_location(staging_of(table, landing), str(landing.generation)) as location:
            yield location, split

    def commit(self, staged: StagedFiles, landing: Landing) -> Landed:
        """Add the staged files to the table, unless it holds the interval, in one commit.

        Raises:
            LandingError: the table must not take them, or cannot.
        """
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        from pravega_jobs.landing.iceberg_catalog import catalog_answers
        from pravega_jobs.landing.iceberg_partitions import split_of
        from pravega_jobs.landing.splitting import check_split

        files: list[str] = []
        columns = staged.schema()  # the files are moved
        action = Action.NOTHING
        holding = Holding.of(landing, staged.rows)
        for _ in range(_TRIES):
            table = self.load()
            found = IcebergStanding.of(table)
            if found.note(landing) == holding:
                return Landed(action, holding)  # the try before has changed the table, but its answer was lost
            action, held = decide(found, landing)
            if held is not None:
                if files:
                    remove_staged(staged, files)
                return Landed(action, held)
            grown = _growth(landing, table, columns)
            check_split(landing, staged.split, split_of(table.metadata, landing))
            check_same_table(table, staged, landing)
            staged.check_values(_columns(table).required, landing)
            files = files or taken(table, staged)
            try:
                with catalog_answers(self.identifier):
                    _commit(table, staged, files, holding, action, _grown(columns, grown))
            except (CommitFailedException, CommitStateUnknownException):
                continue  # another commit was first, maybe of this interval; or the next try finds the holding
            except (ValueError, TypeError, NotImplementedError) as error:
                # So pyiceberg refuses files and tables that do not fit, before it asks the catalog to commit.
                raise LandingError(f"{landing}: the table {self.identifier} was not changed: {error}") from error
            remove_abandoned(table, staged, landing)
            return Landed(action, holding)
        raise TableUnavailableError(
            f"{landing}: {_TRIES} commits to {self.identifier} were refused, since others were first, or had no clear "
            "answer. Run it again: it finds out what the table holds"
        )

    @contextmanager
    def _opened(self) -> "Iterator[Catalog]":
        """The catalog, opened again: an earlier token may be too old. Its errors become LandingErrors."""
        try:
            from pravega_jobs.landing.iceberg_catalog import catalog_answers, open_catalog
        except ImportError:
            raise PYICEBERG.missing("tables of Iceberg") from None
        with catalog_answers(self.identifier):
            yield open_catalog(self.catalog, self.properties)

    def load(self) -> "Table":
        """The table as it is now; it must exist."""
        with self._opened() as catalog:
            return catalog.load_table(self.identifier)

    def table(self) -> "Table | None":
        """The table as it is now; None: it does not exist.

        Raises:
            ConfigurationError: `pyiceberg` is not installed.
        """
        with self._opened() as catalog:
            from pyiceberg.exceptions import NoSuchTableError

            try:
                return catalog.load_table(self.identifier)
            except NoSuchTableError:
                return None

    def make_table(self, columns: "pa.Schema", landing: Landing) -> "Table":
        """Make the table, unless it exists.

        Raises:
            LandingError: its namespace does not exist, or it cannot have these columns.
        """
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            with self._opened() as catalog:
                from pravega_jobs.landing.iceberg_partitions import new_spec

                schema, spec = new_spec(columns, landing)
                return catalog.create_table_if_not_exists(self.identifier, schema, partition_spec=spec)
        except (NoSuchNamespaceError, TypeError, ValueError) as error:
            raise LandingError(f"{landing}: the table {self.identifier} cannot be made: {error}") from error


def try_once(table: "Table") -> None:
    """Let a commit that loses a race fail. This object only: the table's own setting does not change."""
    table.metadata.properties[_RETRIES] = "0"


def _commit(
    table: "Table", staged: StagedFiles, files: list[str], holding: Holding, action: Action, grown: "pa.Schema"
) -> None:
    import pyarrow as pa
    from pyiceberg.io.pyarrow import _check_pyarrow_schema_compatible
    from pyiceberg.table import TableProperties
    from pyiceberg.typedef import Record

    from pravega_jobs.landing.iceberg_partitions import data_file

    note = holding.to_json().decode()
    try_once(table)
    with table.transaction() as transaction:
        if grown.names:
            with transaction.update_schema() as update:
                update.union_by_name(grown)
        if action is Action.REPLACE:
            transaction.delete(interval_filter(holding.consumer, holding.interval))
        found = transaction.table_metadata
        # Files say that each column may be null. Those that may not be have no null, as was checked.
        required = _columns_of(found.schema()).required
        columns = pa.schema([each.with_nullable(each.name not in required) for each in staged.schema()])
        _check_pyarrow_schema_compatible(found.schema(), columns, format_version=found.format_version)
        if found.name_mapping() is None:
            # The files have names of columns, and no numbers.
            transaction.set_properties(
                {TableProperties.DEFAULT_NAME_MAPPING: found.schema().name_mapping.model_dump_json()}
            )
        with transaction.update_snapshot(snapshot_properties={LANDED_IN_SNAPSHOT: note}).fast_append() as snapshot:
            for file, address in zip(staged.files, files, strict=True):
                partition = Record(*file.partition)
                snapshot.append_data_file(data_file(found, address, file.size, file.metadata, partition))
        transaction.set_properties({note_name(holding.consumer, holding.interval): note})


def _schema(columns: "pa.Schema") -> "pa.Schema":
    """The columns of a landing's files: nothing is required, and times are in UTC, as Spark writes them."""
    import pyarrow as pa

    def plain(column: "pa.Field") -> "pa.Field":
        timed = pa.types.is_timestamp(column.type) and column.type.tz is not None
        return pa.field(column.name, pa.timestamp("us", "UTC") if timed else column.type)

    return pa.schema([*map(plain, columns), *(pa.field(name, pa.string()) for name in OWN_COLUMNS)])


def _columns(table: "Table") -> TableColumns:
    return _columns_of(table.schema())


def _columns_of(schema: "Schema") -> TableColumns:
    from pravega_jobs.landing.local_rows import table_columns  # needs PyArrow

    return table_columns(schema.as_arrow(), widens=True)


def _growth(landing: Landing, table: "Table", columns: "pa.Schema") -> Growth:
    from pravega_jobs.landing.local_rows import types_of

    return growth(landing, _columns(table), types_of(columns))


def _grown(staged: "pa.Schema", grown: Growth) -> "pa.Schema":
    """The columns that a table gets, or has with a narrower type."""
    import pyarrow as pa

    return pa.schema([staged.field(name).with_nullable(True) for name in (*grown.added, *grown.widened)])
