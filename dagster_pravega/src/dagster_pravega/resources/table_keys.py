"""Tables of assets, with the resources that they need: a database, a catalog of Iceberg, an object store.

A claim names the table that it lands in without secrets; a step that has the resources finds the table by that text.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.spec import plain
from dagster_pravega.resources.stores import IcebergCatalog, ObjectStore, dsn_of
from pravega_jobs.identity.sinks import AccessedTable, FindTable, HoldsIntervals
from pravega_jobs.landing import (
    ErrorsCount,
    ErrorsStream,
    LandingTable,
    WrittenStream,
    catalog_table,
    count_errors,
    shown_table,
)
from pravega_jobs.landing.errors import errors_sink_of
from pravega_jobs.landing.store_access import StoreAccess, accessing
from pravega_jobs.merging.reading import merged_table

if TYPE_CHECKING:
    from dagster._core.execution.context.system import StepExecutionContext

    from aiopravega.blocking import PravegaClient

TABLE_KEY: Final = "pravega/table"
_DATABASE_KEY: Final = "pravega/database"
_CATALOG_KEY: Final = "pravega/catalog"
_STORE_KEY: Final = "pravega/store"
# The arguments of an asset that name the resources, for messages.
_DATABASE: Final = "database_key"
_CATALOG: Final = "catalog_key"


@dataclass(frozen=True, slots=True)
class TableKeys:
    """The keys of the resources that the tables of an asset need; None: they need none.

    Args:
        database: of the `LandingDatabase`.
        catalog: of the `IcebergCatalog`.
        store: of the `ObjectStore`.
    """

    database: str | None = None
    catalog: str | None = None
    store: str | None = None

    @property
    def required(self) -> set[str]:
        """The keys that are given."""
        return {each for each in (self.database, self.catalog, self.store) if each is not None}

    def check(self, text: str) -> LandingTable:
        """The table that a text names, without secrets, so that it cannot be asked.

        Raises:
            ConfigurationError: there is no such table, or both a database and a catalog are given.
        """
        if self.database is not None and (self.catalog is not None or self.store is not None):
            raise ConfigurationError(
                f"{_DATABASE} is given with {_CATALOG} or store_key, but a table is in a database, or in a catalog or "
                "a store: give that one"
            )
        if self.catalog is not None:
            return catalog_table(text, self.catalog, {}, _CATALOG)
        return shown_table(text, None if self.database is None else "", _DATABASE)

    def merged(self, text: str) -> LandingTable:
        """The table that a text names, as `check`; changes can be merged into it.

        Raises:
            ConfigurationError: there is no such table.
        """
        return merged_table(text) if self.catalog is None and self.database is None else self.check(text)

    def table(self, text: str, resources: Any) -> LandingTable:
        """The table that a text names, with the secrets of its database or catalog.

        Args:
            text: the table, as an argument of an asset names it.
            resources: of the run.

        Raises:
            ConfigurationError: there is no such table.
        """
        if self.catalog is None:
            return shown_table(text, dsn_of(resources, self.database), _DATABASE)
        catalog: IcebergCatalog = getattr(resources, self.catalog)
        return catalog_table(text, catalog.name, catalog.get_properties(), _CATALOG)

    def check_errors(self, text: str) -> None:
        """Check the name of an errors table, as `check`, or of an errors stream, `stream:scope/name`.

        Raises:
            ConfigurationError: there is no such table or stream.
        """
        if ErrorsStream.of_text(text) is None:
            self.check(text)

    def errors(self, text: str, resources: Any) -> LandingTable | ErrorsStream:
        """The errors table that a text names, as `table`, or an errors stream, without a client.

        Raises:
            ConfigurationError: there is no such table or stream.
        """
        return ErrorsStream.of_text(text) or self.table(text, resources)

    def access(self, resources: Any) -> StoreAccess | None:
        """The access to the store of the tables; None: none is given."""
        if self.store is None:
            return None
        store: ObjectStore = getattr(resources, self.store)
        return store.get_access()

    def sink(self, table: str) -> str:
        """The text by which a claim names a table: with the keys, and without secrets."""
        return "".join(f"{each}: " for each in (self.store, self.database, self.catalog) if each is not None) + table

    def of_input(self, table: str) -> dict[str, str]:
        """Metadata of an input by which `tables_of_input` finds the table."""
        keys = {_DATABASE_KEY: self.database, _CATALOG_KEY: self.catalog, _STORE_KEY: self.store}
        return {TABLE_KEY: table, **{name: key for name, key in keys.items() if key is not None}}


@dataclass(frozen=True, slots=True)
class CountedTable:
    """A table or a stream of rows whose errors are counted, by the texts that an asset names them by.

    Args:
        table: the table, or the stream as `stream:scope/name`.
        errors: its errors table or errors stream; None: a stream's ledger knows them.
        keys: of the resources that the tables need.
    """

    table: str
    errors: str | None
    keys: TableKeys

    @classmethod
    def of(cls, table: str, errors: str | None, keys: TableKeys) -> "CountedTable":
        """The table or the stream, checked; nothing is asked.

        Raises:
            ConfigurationError: a text names no table or stream, or a table has no errors table.
        """
        if WrittenStream.of_text(table) is None:
            keys.check(table)
            if errors is None:
                raise ConfigurationError(f"the errors of the table {table} are in a table or a stream: give errors")
        if errors is not None:
            keys.check_errors(errors)
        return cls(table, errors, keys)

    @property
    def in_stream(self) -> bool:
        """True if the cluster is asked: the rows or the errors are in a stream."""
        return any(text is not None and ErrorsStream.of_text(text) is not None for text in (self.table, self.errors))

    def required(self, resource_key: str) -> set[str]:
        """The keys of the resources that the count needs; `resource_key` is that of the cluster."""
        return self.keys.required | ({resource_key} if self.in_stream else set())

    @contextmanager
    def counted(
        self, resources: Any, client: "PravegaClient | None", consumer: str | None = None, interval: str | None = None
    ) -> Iterator[ErrorsCount]:
        """The errors that count; a sample of them can be read within the context.

        Args:
            resources: of the run or the tick.
            client: reaches streams; None: no stream is asked.
            consumer: only errors of this consumer.
            interval: only errors of this interval.

        Raises:
            LandingError: a table cannot be asked.
            PravegaError: the cluster cannot be asked.
        """
        with accessing(self.keys.access(resources)):
            sink = None if self.errors is None else errors_sink_of(self.keys.errors(self.errors, resources))
            stream = WrittenStream.of_text(self.table)
            if sink is not None and client is not None:
                sink = sink.with_client(client)
            target = self.keys.table(self.table, resources) if stream is None else replace(stream, client=client)
            yield count_errors(target, sink, consumer=consumer, interval=interval)


def tables_of_input(metadata: Mapping[str, Any], step: "StepExecutionContext") -> FindTable:
    """A function that finds the table of a claim: the one that an input's metadata name, or one without resources.

    Args:
        metadata: of the input; its asset has put its table there.
        step: has the resources.
    """
    table = plain(metadata.get(TABLE_KEY))
    keys = TableKeys(*(plain(metadata.get(each)) for each in (_DATABASE_KEY, _CATALOG_KEY, _STORE_KEY)))

    def find(target: str) -> HoldsIntervals | None:
        if table is None or not keys.required or target != keys.sink(table):
            return table_without_resources(target)
        resources = step.scoped_resources_builder.build(keys.required)
        found, access = keys.table(table, resources), keys.access(resources)
        return found if access is None else AccessedTable(found, access)

    return find


def table_without_resources(target: str) -> LandingTable | None:
    """The table of a claim, if its text alone names it; None: it needs resources."""
    try:
        return shown_table(target, None, _DATABASE)
    except ConfigurationError:
        return None
