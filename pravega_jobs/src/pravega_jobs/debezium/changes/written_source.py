"""The origin of a change in an event: its `source`, its `transaction` and its times."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import numbers, values_of
from aiopravega.schema.arrow.byte_columns import constant, missing, null_as, without_nulls
from aiopravega.schema.json.columns.encoder import JsonEncoder

# Debezium's connectors have their databases' names.
_CONNECTOR: Final = "pravega"
_FIELDS: Final[Mapping[str, str]] = {
    "_snapshot": "snapshot",
    "_source_db": "db",
    "_source_schema": "schema",
    "_source_table": "table",
    "_lsn": "lsn",
    "_file": "file",
    "_pos": "pos",
    "_row": "row",
}
_OUTER: Final = ("_source_table", "_source_schema", "_source_db")
_COMMITTED, _INGESTED = "_source_ts", "_ingested_at"
_NULL: Final = constant(b"null")
_TRANSACTION: Final = JsonEncoder(["id", "total_order", "data_collection_order"], nulls=True)


class SourceWriter:
    """Writes the `source` of events.

    Args:
        about: names of the columns about changes.
        table: the table's name, maybe with schema and database in front; used if no column has it.

    Raises:
        ConfigurationError: the name has too many parts.
    """

    def __init__(self, about: frozenset[str], table: str | None) -> None:
        parts = table.split(".")[::-1] if table else []
        if len(parts) > len(_OUTER):
            raise ConfigurationError(
                f"option 'table' is {table!r}, but it takes a table, schema.table or db.schema.table"
            )
        self._named = {column: part for column, part in zip(_OUTER, parts, strict=False) if column not in about}
        self._columns = [column for column in _FIELDS if column in about or column in self._named]
        self._committed = _COMMITTED in about
        times = ("ts_ms", "ts_us") if self._committed else ()
        self._encoder = JsonEncoder(["connector", *times, *(_FIELDS[column] for column in self._columns)])

    def texts(self, given: Mapping[str, pa.Array], rows: int) -> pa.BinaryArray:
        """The `source` of each row as JSON."""
        times = list(_counted(given[_COMMITTED])) if self._committed else []
        columns = [given[name] if name in given else _same(self._named[name], rows) for name in self._columns]
        return self._encoder.columns([_same(_CONNECTOR, rows), *times, *columns], rows)

    def times(self, given: Mapping[str, pa.Array], rows: int) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        """The time of each change, seen or committed, in milliseconds and in microseconds, as JSON."""
        column = given.get(_INGESTED, given.get(_COMMITTED))
        if column is None:
            nothing = values_of([b"null"] * rows, pa.binary())
            return nothing, nothing
        millis, micros = (times.cast(pa.string()).cast(pa.binary()).fill_null(_NULL) for times in _counted(column))
        return millis, micros


def transaction_of(given: Mapping[str, pa.Array], rows: int) -> pa.BinaryArray:
    """The `transaction` of each row as JSON; null for a row without one."""
    names = given.get("_tx")
    if names is None:
        return pa.nulls(rows, pa.binary())
    order = given.get("_tx_order", pa.nulls(rows, pa.int64()))
    return null_as(_TRANSACTION.columns([names, order, pa.nulls(rows, pa.int64())], rows), names)


def _counted(times: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Milliseconds and microseconds since 1970."""
    micros = times.cast(pa.int64())
    millis = without_nulls(micros, 0) // 1000
    return numbers(millis, pa.int64(), ~missing(micros) if micros.null_count else None), micros


def _same(text: str, rows: int) -> pa.Array:
    return values_of([text.encode()] * rows, pa.string())
