"""Columns about a change, such as its kind, time and order: made from an event's envelope."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import list_of, pick, strings
from aiopravega.schema.arrow.byte_columns import missing, without_nulls
from pravega_jobs.debezium.changes.meanings import INSTANT

CHANGE_TYPE: Final = "_change_type"
UNCHANGED: Final = "_unchanged"
REST: Final = "_rest"
SOURCE: Final = "_source"
SEQUENCE: Final = "_sequence"
_TEXT, _LONG = pa.string(), pa.int64()
TYPES: Final[Mapping[str, pa.DataType]] = {
    CHANGE_TYPE: _TEXT,
    "_op": _TEXT,
    "_deleted": pa.bool_(),
    "_ingested_at": INSTANT,
    "_source_ts": INSTANT,
    "_source_db": _TEXT,
    "_source_schema": _TEXT,
    "_source_table": _TEXT,
    "_snapshot": _TEXT,
    "_lsn": _LONG,
    "_file": _TEXT,
    "_pos": _LONG,
    "_row": _LONG,
    "_tx": _TEXT,
    "_tx_order": _LONG,
    SEQUENCE: pa.binary(),
    UNCHANGED: list_of(_TEXT),
    REST: _TEXT,
    SOURCE: _TEXT,
}
# The columns that cost little. `_source` and `_rest` need texts of JSON, which are made event by event.
USUAL: Final = tuple(name for name in TYPES if name not in (REST, SOURCE))
# One of these tells a deleted row from one that is there.
TELLING: Final = (CHANGE_TYPE, "_op", "_deleted")
# The fields of `source` that each column needs; the fields of all reads are first.
_ALWAYS: Final = ("connector",)
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "_source_ts": ("ts_us", "ts_ms"),
    "_source_db": ("db",),
    "_source_schema": ("schema",),
    "_source_table": ("table",),
    "_snapshot": ("snapshot",),
    "_lsn": ("lsn",),
    "_file": ("file",),
    "_pos": ("pos",),
    "_row": ("row",),
    "_tx": ("txId", "gtid"),
    SEQUENCE: ("lsn", "file", "pos", "row", "commit_lsn", "change_lsn", "event_serial_no"),
}
_SOURCE_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys(("connector", "db", "schema", "table", "snapshot", "file", "gtid"), _TEXT),
    **dict.fromkeys(("commit_lsn", "change_lsn"), _TEXT),
    **dict.fromkeys(("ts_us", "ts_ms", "pos", "row", "lsn", "txId", "event_serial_no"), _LONG),
}
# Fields that are texts or not, by the connector and its version: Oracle's transactions are 6.28.807.
EITHER: Final = ("txId", "snapshot")
# The fields of the envelope that each column needs, beside the fields of all reads.
_TRANSACTION: Final = pa.field("transaction", pa.struct([("id", _TEXT), ("total_order", _LONG)]))
_NEEDED_AROUND: Final[Mapping[str, tuple[pa.Field, ...]]] = {
    "_ingested_at": (pa.field("ts_us", _LONG), pa.field("ts_ms", _LONG)),
    "_tx": (_TRANSACTION,),
    "_tx_order": (_TRANSACTION,),
}
_SIMPLE: Final = {
    "_source_db": "db",
    "_source_schema": "schema",
    "_source_table": "table",
    "_snapshot": "snapshot",
    "_lsn": "lsn",
    "_file": "file",
    "_pos": "pos",
    "_row": "row",
}
WORDS: Final = {"c": "insert", "r": "insert", "u": "update_postimage", "d": "delete", "t": "truncate"}
PREIMAGE: Final = "update_preimage"


def source_fields(columns: Sequence[str], *, tables: bool) -> pa.Schema:
    """The fields of `source` that some metadata columns need; `tables` adds the names of tables."""
    names = [*_ALWAYS, *(("db", "schema", "table") if tables else ())]
    names += [field for column in columns for field in _NEEDED.get(column, ())]
    kinds = _SOURCE_TYPES
    return pa.schema([(name, kinds[name]) for name in dict.fromkeys(names)])


def envelope_fields(columns: Sequence[str]) -> pa.Schema:
    """The fields of the envelope, beside its images and `source`, that some metadata columns need."""
    return pa.schema(dict.fromkeys(field for column in columns for field in _NEEDED_AROUND.get(column, ())))


def column(name: str, event: Mapping[str, pa.Array], source: Mapping[str, pa.Array]) -> pa.Array:
    """A column that is made from the envelope, with a value for each event."""
    if name in _SIMPLE:
        return source[_SIMPLE[name]].cast(TYPES[name])
    match name:
        case "_op":
            return event["op"]
        case "_deleted":
            return pc.equal(event["op"], "d")
        case "_ingested_at":
            return _instant(event["ts_us"], event["ts_ms"])
        case "_source_ts":
            return _instant(source["ts_us"], source["ts_ms"])
        case "_tx":
            own = pc.coalesce(source["txId"].cast(_TEXT), source["gtid"])
            return pc.coalesce(event["transaction"].flatten()[0], own)
        case "_tx_order":
            return event["transaction"].flatten()[1]
    raise AssertionError(name)


def change_types(op: pa.Array) -> pa.Array:
    """The change of each event, in the words of Delta and Spark."""
    words = strings(list(WORDS.values()))
    return words.take(pc.index_in(op, value_set=strings(list(WORDS))))


def with_preimages(types: pa.Array, of_update: np.typing.NDArray[np.bool_]) -> pa.Array:
    """The same types, but `PREIMAGE` for the rows before an update."""
    if not of_update.any():
        return types
    both = pa.concat_arrays([types, strings([PREIMAGE])])
    return pick(both, np.where(of_update, len(types), np.arange(len(types))))


def _instant(micros: pa.Array, millis: pa.Array) -> pa.Array:
    """Points in time. Debezium writes microseconds since 2.6; before, milliseconds only."""
    if micros.null_count:
        micros = pc.coalesce(micros, pc.multiply(millis, 1000))
    return micros.cast(INSTANT)


def sequences(source: Mapping[str, pa.Array], epoch: int, offsets: "np.typing.NDArray[np.int64]") -> pa.Array:
    """Bytes that sort in the order of the changes of one key.

    PostgreSQL: the position in its log. MySQL and MariaDB: number of the log file, position, row. SQL Server: both of
    its positions and the number within. All others: epoch and offset of the event in Pravega, where events that
    Debezium repeats after a restart come again.
    """
    count = len(offsets)
    lsn = ~missing(source["lsn"])
    files = ~missing(source["file"]) & ~missing(source["pos"])
    commits = ~missing(source["commit_lsn"])
    numbers = np.zeros((count, 3), ">i8")
    numbers[:, 0], numbers[:, 1] = epoch, offsets
    widths = np.full(count, 2 * 8)
    numbers[lsn, 0] = without_nulls(source["lsn"], 0)[lsn]
    widths[lsn] = 8
    if files.any():
        digits = pc.replace_substring_regex(source["file"], r"^.*\.0*(\d)", r"\1")
        numbers[files, 0] = without_nulls(pick(digits, np.flatnonzero(files)).cast(_LONG), 0)
        numbers[files, 1] = without_nulls(source["pos"], 0)[files]
        numbers[files, 2] = without_nulls(source["row"], 0)[files]
        widths[files] = 3 * 8
    made = _rows_of_bytes(numbers.view(np.uint8).reshape(count, -1), widths)
    if not commits.any():
        return made
    serial = _rows_of_bytes(without_nulls(source["event_serial_no"], 0).astype(">i8").view(np.uint8).reshape(count, 8))
    change = pick(source["change_lsn"], np.where(missing(source["change_lsn"]), -1, np.arange(count))).cast(pa.binary())
    texts = pc.binary_join_element_wise(
        source["commit_lsn"].cast(pa.binary()), change, serial, b"/", null_handling="replace", null_replacement=""
    )
    return pick(pa.concat_arrays([made, texts]), np.arange(count) + np.where(commits, count, 0))


def _rows_of_bytes(
    table: "np.typing.NDArray[np.uint8]", widths: "np.typing.NDArray[np.int64] | None" = None
) -> pa.BinaryArray:
    sizes = np.full(len(table), table.shape[1]) if widths is None else widths
    borders = np.zeros(len(table) + 1, np.int32)
    np.cumsum(sizes, out=borders[1:])
    data = table[np.arange(table.shape[1]) < sizes[:, None]]
    return pa.Array.from_buffers(pa.binary(), len(table), [None, pa.py_buffer(borders), pa.py_buffer(data)])
