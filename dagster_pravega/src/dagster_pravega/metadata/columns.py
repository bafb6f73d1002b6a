"""Columns of tables: the columns that an input selects, and the metadata that Dagster shows of an output's columns."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dagster import (
    AssetKey,
    InputContext,
    MetadataValue,
    TableColumn,
    TableColumnConstraints,
    TableColumnDep,
    TableColumnLineage,
    TableSchema,
)

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.spec import plain
from pravega_jobs.merging.rules import columns_of_stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SCHEMA_KEY: Final = "dagster/column_schema"
LINEAGE_KEY: Final = "dagster/column_lineage"
COLUMNS_KEY: Final = "columns"
DECODED_KEY: Final = "pravega/columns"


def wanted_columns(context: InputContext, existing: Sequence[str]) -> list[str] | None:
    """The columns that the metadata `columns` of an `AssetIn` name, in their order; None: all.

    Raises:
        ConfigurationError: the metadata are not a list of names, or there is no such column.
    """
    given: Any = plain(context.definition_metadata.get(COLUMNS_KEY))
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ConfigurationError(f"the metadata {COLUMNS_KEY!r} is {given!r}, but must be a list of names of columns")
    unknown = [str(name) for name in given if name not in existing]
    if unknown:
        raise ConfigurationError(
            f"the metadata {COLUMNS_KEY!r} names {', '.join(unknown)}, but the columns are {', '.join(existing)}"
        )
    return [str(name) for name in given]


def decoded_columns(context: InputContext) -> str | None:
    """The columns of decoded events that the metadata `pravega/columns` of an `AssetIn` name; None: the source's own.

    Raises:
        ConfigurationError: the metadata are not a text.
    """
    given: Any = plain(context.definition_metadata.get(DECODED_KEY))
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise ConfigurationError(
            f"the metadata {DECODED_KEY!r} is {given!r}, but must be columns as SQL writes them: id int, name string"
        )
    return given


def table_schema(columns: Sequence[tuple[str, str, bool]]) -> dict[str, Any]:
    """Metadata of columns; each has a name, a type, and True if it may be null."""
    shown = [TableColumn(name, kind, constraints=TableColumnConstraints(nullable=null)) for name, kind, null in columns]
    return {SCHEMA_KEY: MetadataValue.table_schema(TableSchema(columns=shown))}


def spark_schema(frame: "DataFrame") -> dict[str, Any]:
    """Metadata of the columns of a DataFrame."""
    return table_schema([(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema.fields])


def arrow_schema(schema: "pa.Schema | None") -> dict[str, Any]:
    """Metadata of the columns of an Arrow table; empty if the schema is not known."""
    return {} if schema is None else table_schema([(each.name, str(each.type), each.nullable) for each in schema])


def columns_from(stream: AssetKey, names: Iterable[str]) -> dict[str, Any]:
    """Metadata of the columns of a table that are columns of its stream; for rows that no function has changed."""
    found = {name: [TableColumnDep(stream, name)] for name in columns_of_stream(names)}
    return {LINEAGE_KEY: MetadataValue.column_lineage(TableColumnLineage(found))} if found else {}
