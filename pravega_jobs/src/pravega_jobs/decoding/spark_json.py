"""Spark's own schemas, as `schema.json()` of a DataFrame writes them, as Arrow's columns; Spark is not needed here."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from aiopravega.schema.arrow.sql_columns import columns_of


def columns_of_spark(document: Mapping[str, Any]) -> pa.Schema:
    """The columns of a schema; each may be null, since an event may lack any field.

    Raises:
        ConfigurationError: it is not a schema of Spark, or a type cannot be read from events.
    """
    try:
        return pa.schema(_fields(document))
    except (ConfigurationError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the schema for decode=json is not one of Spark's: {error!r}") from None


def _fields(struct: Mapping[str, Any]) -> list[pa.Field]:
    return [pa.field(field["name"], _type(field["type"])) for field in struct["fields"]]


def _type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        [named] = columns_of(f"value {kind}")
        return named.type
    match kind["type"]:
        case "struct":
            return pa.struct(_fields(kind))
        case "array":
            return list_of(_type(kind["elementType"]))
        case "map":
            return pa.map_(_type(kind["keyType"]), _type(kind["valueType"]))
    raise ConfigurationError(f"{kind['type']!r} is not a type of events")
