"""Schemas of Kafka Connect for events that are written: the meanings of columns, and the text before events."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from pravega_jobs.debezium.changes.connect import PRECISION, SOURCE_TYPE, Meaning, Meanings
from pravega_jobs.debezium.changes.meanings import DECIMAL, ZONED, check_type
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, Decimals, TimePrecision, WrittenChanges

_DATE: Final = "io.debezium.time.Date"
_MILLIS: Final = "io.debezium.time.Timestamp"
_MICROS: Final = "io.debezium.time.MicroTimestamp"
_SIMPLE: Final = (
    (pa.types.is_int8, "int8"),
    (pa.types.is_int16, "int16"),
    (pa.types.is_int32, "int32"),
    (pa.types.is_integer, "int64"),
    (pa.types.is_float32, "float"),
    (pa.types.is_floating, "double"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_string, "string"),
)
_UNSIGNED_TYPE: Final = {SOURCE_TYPE: "BIGINT UNSIGNED"}


def meaning_for(kind: pa.DataType, column: str, options: WrittenChanges) -> Meaning:
    """The meaning of a column without a schema: as Debezium's connectors write such a column.

    Raises:
        ConfigurationError: change events have no such columns.
    """
    check_type(kind, column)
    if pa.types.is_decimal(kind):
        by_default = Decimals.BASE64 if options.with_schemas else Decimals.DIGITS
        way = by_default if options.decimals is Decimals.ADAPTIVE else options.decimals
        return Meaning("bytes", DECIMAL, kind.scale, kind.precision) if way is Decimals.BASE64 else Meaning("string")
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            return Meaning("string", ZONED)
        return Meaning("int64", _MILLIS if options.time_precision is TimePrecision.MS else _MICROS)
    if pa.types.is_date(kind):
        return Meaning("int32", _DATE)
    if pa.types.is_list(kind):
        return Meaning("array", items=meaning_for(kind.value_type, f"{column}[]", options))
    if pa.types.is_struct(kind):
        parts = ((one.name, meaning_for(one.type, f"{column}.{one.name}", options)) for one in kind)
        return Meaning("struct", fields=tuple(parts))
    return Meaning(next(base for fits, base in _SIMPLE if fits(kind)))


def schema_text(columns: Meanings, table: str) -> bytes:
    """The text before the payload of each event that carries its schema; a `}` closes the event.

    Args:
        columns: of the table.
        table: its name, for the names of the schemas.
    """
    row = _struct(columns, f"{table}.Value")
    source = {name: Meaning("string") for name in ("connector", "db", "schema", "table", "snapshot", "file")}
    source |= {name: Meaning("int64") for name in ("ts_ms", "ts_us", "lsn", "pos", "row")}
    transaction = {"id": Meaning("string"), "total_order": Meaning("int64"), "data_collection_order": Meaning("int64")}
    times = [{"type": "int64", "optional": True, "field": name} for name in ("ts_ms", "ts_us")]
    fields = [
        {**row, "field": BEFORE},
        {**row, "field": AFTER},
        {**_struct(source, "source"), "field": "source"},
        {**_struct(transaction, "event.block"), "field": "transaction"},
        {"type": "string", "optional": False, "field": "op"},
        *times,
    ]
    schema = {"type": "struct", "fields": fields, "optional": False, "name": f"{table}.Envelope"}
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f'{{"schema":{text},"payload":'.encode()


def _struct(columns: Meanings, name: str) -> dict[str, Any]:
    fields = [{**_schema(meaning), "field": column} for column, meaning in columns.items()]
    return {"type": "struct", "fields": fields, "optional": True} | ({"name": name} if name else {})


def _schema(meaning: Meaning) -> dict[str, Any]:
    """Connect's schema of a value, which `meaning_of` reads."""
    if meaning.base == "struct":
        return _struct(dict(meaning.fields), meaning.name)
    schema: dict[str, Any] = {"type": meaning.base, "optional": True}
    if meaning.items is not None:
        schema["items"] = _schema(meaning.items)
    if meaning.name:
        schema |= {"name": meaning.name, "version": 1}
    parameters = _parameters(meaning)
    return schema | ({"parameters": parameters} if parameters else {})


def _parameters(meaning: Meaning) -> Mapping[str, str]:
    if meaning.unsigned:
        return _UNSIGNED_TYPE
    if meaning.name != DECIMAL:
        return {}
    precise = {} if meaning.precision is None else {PRECISION: str(meaning.precision)}
    return {"scale": str(meaning.scale)} | precise
