"""Rows as change events, laid out as Debezium writes them, and their routing keys: whole blocks at a time.

An event depends on its row only, not on the clock: a row that is written again gives the same event.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Mask, booleans, mask_of, numbers, strings, values_of
from aiopravega.schema.arrow.byte_columns import constant, joined, missing, null_as, without_nulls
from aiopravega.schema.json.columns.encoder import JsonEncoder
from pravega_jobs.debezium.changes import metadata, placeholders
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP, WrittenChanges
from pravega_jobs.debezium.changes.written_rows import WrittenRows
from pravega_jobs.debezium.changes.written_schema import schema_text
from pravega_jobs.debezium.changes.written_values import writer_of

_NULL: Final = constant(b"null")
_OPS: Final = tuple(dict.fromkeys(metadata.WORDS))
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
_TRANSACTION: Final = JsonEncoder(["id", "total_order", "data_collection_order"], nulls=True)


class ChangeEncoder:
    """Makes change events of rows.

    Args:
        columns: of the rows.
        options: of the write.
        meanings: of the table's columns, by the schema that the user gave; None without one.

    Raises:
        ConfigurationError: a column is missing, or cannot be written.
    """

    def __init__(self, columns: pa.Schema, options: WrittenChanges, meanings: dict[str, Meaning] | None = None) -> None:
        rows = WrittenRows.find(columns, options, meanings)
        self._rows = rows
        self._key = options.key
        self._writers = {one.name: writer_of(one.type, rows.meanings[one.name], one.name) for one in rows.table}
        self._image = JsonEncoder(rows.table.names, nulls=True)
        self._key_image = JsonEncoder(options.key, nulls=True)
        self._source = SourceWriter(rows.about, options.table)
        schema = schema_text(rows.meanings, options.table or "table") if options.with_schemas else b""
        self._begin, self._end = constant(schema + b'{"before":'), constant(b"}}" if schema else b"}")

    def columns(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """An event of each row.

        Raises:
            ConfigurationError: a row is not a change, or has a value that cannot be written.
        """
        given = dict(zip(self._rows.names, columns, strict=True))
        op = self._ops(given)
        images = {name: self._image_of(given, name, there) for name, there in self._images(given, op).items()}
        millis, micros = self._source.times(given, rows)
        return joined(
            self._begin,
            images[BEFORE],
            constant(b',"after":'),
            images[AFTER],
            constant(b',"source":'),
            self._source.texts(given, rows),
            constant(b',"transaction":'),
            transaction_of(given, rows).fill_null(_NULL),
            constant(b',"op":"'),
            op.cast(pa.binary()),
            constant(b'","ts_ms":'),
            millis,
            constant(b',"ts_us":'),
            micros,
            self._end,
        )

    def keys(self, columns: Sequence[pa.Array], rows: int) -> pa.StringArray | None:
        """The routing key of each row as Debezium writes it: its key as JSON, null for a truncate; None without keys.

        Raises:
            ConfigurationError: a row has no key, or an update changes it.
        """
        if not self._key:
            return None
        given = dict(zip(self._rows.names, columns, strict=True))
        op = self._ops(given)
        there = self._images(given, op)
        by_image = {name: self._key_of(given, name) for name in ((AFTER, BEFORE) if self._rows.envelope else (AFTER,))}
        keys = by_image[AFTER]
        if self._rows.envelope:
            keys = pc.if_else(booleans(there[AFTER]), keys, by_image[BEFORE])
            both = there[BEFORE] & there[AFTER]
            if (both & ~mask_of(pc.equal(by_image[AFTER], by_image[BEFORE]).fill_null(False))).any():
                raise ConfigurationError(
                    f"an update changes the key ({', '.join(self._key)}): write a delete of the old key and an insert "
                    "of the new one, as Debezium does"
                )
        truncated = _is(op, "t")
        if (missing(keys) & ~truncated).any():
            raise ConfigurationError(f"a change has null in its key ({', '.join(self._key)})")
        texts = keys.cast(pa.string())
        return placeholders.without(texts, truncated) if truncated.any() else texts

    def _ops(self, given: Mapping[str, pa.Array]) -> pa.Array:
        """Debezium's letter of each row."""
        types = given.get(metadata.CHANGE_TYPE)
        if types is not None and _is(types, metadata.PREIMAGE).any():
            raise ConfigurationError(
                "a row is the image before an update (update_preimage), which is a part of an event: pair it with the "
                "image after by pyspark_pravega.cdc.to_debezium, or leave such rows out"
            )
        letters = given.get("_op", given.get(OP) if self._rows.envelope else None)
        if letters is None:
            assert types is not None
            words = {word: letter for letter, word in metadata.WORDS.items() if letter != "r"}
            ops = strings(list(words.values())).take(pc.index_in(types, value_set=strings(list(words))))
        else:
            types = letters
            ops = strings(list(_OPS)).take(pc.index_in(letters, value_set=strings(list(_OPS))))
        wrong = missing(ops)
        if wrong.any():
            raise ConfigurationError(
                f"a row is the change {types[int(np.flatnonzero(wrong)[0])].as_py()!r}, which is not known: there are "
                f"{', '.join(metadata.WORDS.values())} in _change_type, and {', '.join(_OPS)} in _op"
            )
        return ops

    def _images(self, given: Mapping[str, pa.Array], op: pa.Array) -> dict[str, Mask]:
        """For each image the mask of rows in which it is written."""
        deleted, truncated = _is(op, "d"), _is(op, "t")
        if not self._rows.envelope:
            return {BEFORE: deleted, AFTER: ~deleted & ~truncated}
        nothing = np.zeros(len(op), np.bool_)
        there = {name: ~missing(given[name]) if name in given else nothing for name in (BEFORE, AFTER)}
        if (there[AFTER] == (deleted | truncated)).any() or (deleted & ~there[BEFORE]).any():
            raise ConfigurationError(
                "the images of a row do not fit its op: c, r and u have an after, d has a before only"
            )
        return there

    def _values(self, given: Mapping[str, pa.Array], image: str) -> Mapping[str, pa.Array]:
        if not self._rows.envelope:
            return given
        return dict(zip(self._rows.table.names, given[image].flatten(), strict=True)) if image in given else {}

    def _image_of(self, given: Mapping[str, pa.Array], image: str, there: Mask) -> pa.BinaryArray:
        """The image of each row as JSON; the word null for a row without this image."""
        if not there.any():
            return joined(_NULL, strings([""] * len(there)).cast(pa.binary()))
        values = self._values(given, image)
        written = [writer.write(values[name]) for name, writer in self._writers.items()]
        unsent = given.get(metadata.UNCHANGED)
        if unsent is not None and image == AFTER:
            written = [self._marked(array, name, unsent) for name, array in zip(self._writers, written, strict=True)]
        texts = self._image.columns(written, len(there))
        return texts if there.all() else pc.if_else(booleans(there), texts, _NULL)

    def _marked(self, written: pa.Array, name: str, unsent: pa.ListArray) -> pa.Array:
        which = placeholders.named_in(unsent, name)
        if not which.any():
            return written
        marked = placeholders.put_into(written, which, in_base64=self._rows.meanings[name].base == "bytes")
        if marked is None:
            raise ConfigurationError(
                f"column {name!r} is in _unchanged, but only texts and bytes can be marked in an event as not sent: "
                "give the row its value, and take the name out of _unchanged"
            )
        return marked

    def _key_of(self, given: Mapping[str, pa.Array], image: str) -> pa.BinaryArray:
        """The key of each row as JSON; null for a row without a key, or if a part of the key is null."""
        values = self._values(given, image)
        if not values:
            return pa.nulls(len(next(iter(given.values()))), pa.binary())
        written = [self._writers[name].write(values[name]) for name in self._key]
        lacking = np.logical_or.reduce([missing(array) for array in written])
        return placeholders.without(self._key_image.columns(written, len(lacking)), lacking)


def _is(texts: pa.Array, value: str) -> Mask:
    return mask_of(pc.is_in(texts, value_set=strings([value])))


class SourceWriter:
    """Writes the origin of a change in an event: its `source`, and its times.

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
