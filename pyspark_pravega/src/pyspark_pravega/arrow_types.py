"""Types of columns: Spark's as Arrow's, whatever the version of PySpark, and with nulls allowed.

PySpark converts them, but the argument that makes timestamps UTC is `timestamp_utc` (on by default) in 4.1, and
`timezone` in 4.3. Only this module calls PySpark's function.
"""

import inspect
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from aiopravega.errors import ConfigurationError

_TIMEZONE: Final = "timezone"


def arrow_schema(columns: StructType) -> pa.Schema:
    """The columns as Arrow's types, in which Spark takes and gives batches: its timestamps are instants in UTC."""
    zone: dict[str, Any] = {_TIMEZONE: "UTC"} if _TIMEZONE in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(columns, **zone)


def spark_schema(columns: pa.Schema) -> StructType:
    """Arrow's columns as Spark's types: times without a zone stay so, which is not the default of PySpark 4.1."""
    described = pa.schema([_described(field) for field in columns])
    return from_arrow_schema(described, prefer_timestamp_ntz=True)


def _described(field: pa.Field) -> pa.Field:
    """A field with metadata in all its parts: without any, PySpark 4.1 fails on a field `wkb` of a struct."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_described(part) for part in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_described(kind.value_field))
    return field.with_type(kind).with_metadata(field.metadata or {b"-": b""})


def of_user(given: StructType) -> StructType:
    """Check the schema that the user gave to the reader; Spark will compare the rows with it.

    Raises:
        ConfigurationError: a column may not be null.
    """
    if given != nullable(given):
        raise ConfigurationError(
            f"the columns {given.simpleString()} may not be NOT NULL: a field that an event lacks is null"
        )
    return given


def nullable(kind: DataType) -> DataType:
    """The type with all its parts nullable, since a field that an event lacks is null."""
    match kind:
        case StructType():
            return StructType(
                [StructField(field.name, nullable(field.dataType), metadata=field.metadata) for field in kind.fields]
            )
        case ArrayType():
            return ArrayType(nullable(kind.elementType))
        case MapType():
            return MapType(nullable(kind.keyType), nullable(kind.valueType))
    return kind
