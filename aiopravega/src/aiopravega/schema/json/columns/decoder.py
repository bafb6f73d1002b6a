"""Payloads in JSON into columns, by PyArrow's reader over all of them joined by new lines.

The reader reports rows, not events, so each row of its text must be exactly one event. A string cannot hold a new line.
If each event begins with `{` and ends with `}`, an object that begins after the end of an event is at the top level: so
every event begins a row, and if there are as many rows as events, each event is one row. Other events, such as events
with white space around them, are put into objects, as in {"event":…}, which takes half as long again.

JSON has no NaN, no infinities and no bytes. They are read as Spark and Java's Jackson write them: as the texts "NaN",
"Infinity" and "-Infinity", and in base64. The reader takes times with six digits behind the point; events with more are
read again, with times as texts.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as pa_json

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import borders_of, numbers, values_of
from aiopravega.schema.arrow.base64_texts import bytes_of
from aiopravega.schema.arrow.block import BlockError, DecodedBlock, decode_or_search
from aiopravega.schema.arrow.time_texts import LONG, times_of

_FIELD: Final = "event"
_OPEN: Final = f'{{"{_FIELD}":'.encode()
_NEW_LINE: Final = b"\n"
_CLOSE: Final = b"}" + _NEW_LINE
_BEGIN, _END, _LINE = b"{}\n"
# About so many bytes at a time: the reader needs several times the memory of its text.
_BYTES_AT_ONCE: Final = 2 * 1024 * 1024
# With threads, more bytes at a time, in blocks; each block is read by one thread.
_BYTES_OF_THREADS: Final = 16 * 1024 * 1024
_BLOCK: Final = 256 * 1024
_SEVERAL: Final = "it is not one JSON object, but several"
# The texts of numbers that JSON does not have, as values: not as names of fields.
_NOT_FINITE: Final = re.compile(rb'"(NaN|-?Infinity)"(?=\s*[,}\]])')
_UNREADABLE: Final = (pa.types.is_map, pa.types.is_time, pa.types.is_duration, pa.types.is_interval)
_OTHER_TYPE: Final = re.compile(rf"Column\(/{_FIELD}(.*)\) changed from (\w+) to (\w+)")


class _Parsing:
    """The columns of a schema as Arrow reads them: from events alone, and from events inside of objects."""

    def __init__(self, schema: pa.Schema, *, times_are_texts: bool = False) -> None:
        fields = [field.with_type(_as_read(field.type, times_are_texts=times_are_texts)) for field in schema]
        self.schema = pa.schema(fields)
        self.plain = pa_json.ParseOptions(explicit_schema=self.schema, unexpected_field_behavior="ignore")
        self.enclosed = pa_json.ParseOptions(
            explicit_schema=pa.schema([(_FIELD, pa.struct(fields))]), unexpected_field_behavior="ignore"
        )


class JsonDecoder:
    """Decodes objects into columns of a schema: absent fields are null, undeclared fields are ignored."""

    def __init__(self, schema: pa.Schema, *, threads: bool = False) -> None:
        self._schema = schema
        self._has_reals = any(_contains(field.type, pa.types.is_floating) for field in schema)
        self._has_times = any(_contains(field.type, _is_time) for field in schema)
        self._threads = threads
        self._usual, self._texts = _Parsing(schema), _Parsing(schema, times_are_texts=True)

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The columns of the schema."""
        borders = borders_of(payloads)
        most = _BYTES_OF_THREADS if self._threads else _BYTES_AT_ONCE
        at_once = max(1, len(payloads) * most // max(1, int(borders[-1] - borders[0])))
        bad: dict[int, str] = {}
        parts = []
        for first in range(0, len(payloads), at_once) or (0,):
            block = decode_or_search(payloads.slice(first, at_once), self._decode)
            parts.append(block.columns)
            bad |= {first + row: why for row, why in block.bad.items()}
        return DecodedBlock([pa.concat_arrays(column) for column in zip(*parts, strict=True)], bad)

    def trim(self, payload: bytes) -> bytes:
        """The payload without zeros at its end, which JSON does not have."""
        return payload.rstrip(b"\0")

    def _decode(self, payloads: pa.BinaryArray) -> list[pa.Array]:
        if not len(payloads):
            return [pa.nulls(0, field.type) for field in self._schema]
        try:
            payloads.cast(pa.string())  # the reader does not check that a text is UTF-8
            try:
                return self._read(payloads, self._usual)
            except pa.ArrowException:
                has_long = self._has_times and pc.any(pc.match_substring_regex(payloads, LONG)).as_py()
                again = self._with_numbers(payloads)
                if again is None and not has_long:
                    raise
                return self._read(payloads if again is None else again, self._texts if has_long else self._usual)
        except pa.ArrowException as error:
            raise BlockError(_reason(error)) from None

    def _read(self, payloads: pa.BinaryArray, parsing: _Parsing) -> list[pa.Array]:
        # A single event is also put into an object, so that all errors have the same form.
        if len(payloads) > 1 and _are_lines_of_objects(payloads):
            return self._columns(self._lines(payloads, parsing), len(payloads))
        events = self._inside(payloads, parsing)
        if events.null_count:
            raise BlockError("it is null, not a JSON object")
        return self._columns(pa.Table.from_arrays(events.flatten(), schema=parsing.schema), len(events))

    def _with_numbers(self, payloads: pa.BinaryArray) -> pa.BinaryArray | None:
        """The payloads with NaN and infinities as the reader takes them, without quotes; None: there are none."""
        if not self._has_reals:
            return None
        given = payloads.to_pylist()
        found = [_NOT_FINITE.search(event) and _with_numbers(event, self._schema) for event in given]
        if not any(found):
            return None
        return values_of([new or old for new, old in zip(found, given, strict=True)], pa.binary())

    def _lines(self, payloads: pa.BinaryArray, parsing: _Parsing) -> pa.Table:
        text = pa.py_buffer(_joined(payloads, _NEW_LINE))
        size = _BLOCK if self._threads else text.size + 1
        options = pa_json.ReadOptions(use_threads=self._threads, block_size=size)
        return pa_json.read_json(pa.BufferReader(text), options, parsing.plain)

    def _inside(self, payloads: pa.BinaryArray, parsing: _Parsing) -> pa.StructArray:
        text = b"".join((_OPEN, _joined(payloads, _CLOSE + _OPEN), _CLOSE))
        options = pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = pa_json.read_json(pa.BufferReader(text), options, parsing.enclosed)
        if table.num_rows != len(payloads):
            raise BlockError(_SEVERAL)
        return table.column(_FIELD).combine_chunks()

    def _columns(self, table: pa.Table, rows: int) -> list[pa.Array]:
        if table.num_rows != rows:
            raise BlockError(_SEVERAL)
        return [_as_wanted(_whole(table.column(index)), field.type) for index, field in enumerate(self._schema)]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _are_lines_of_objects(payloads: pa.BinaryArray) -> bool:
    """True if all events begin and end as objects do, and have no new line."""
    borders = borders_of(payloads).astype(np.int64)
    data = np.frombuffer(payloads.buffers()[2] or b"", np.uint8)
    if not (borders[1:] > borders[:-1]).all():
        return False
    if (data[borders[:-1]] != _BEGIN).any() or (data[borders[1:] - 1] != _END).any():
        return False
    return not (data[borders[0] : borders[-1]] == _LINE).any()


def _joined(payloads: pa.BinaryArray, between: bytes) -> memoryview:
    """All payloads, joined by `between`."""
    whole = pa.ListArray.from_arrays(numbers(np.array([0, len(payloads)], np.int32), pa.int32()), payloads)
    joined = pc.binary_join(whole, values_of([between], pa.binary()))
    return memoryview(joined.buffers()[2])[: _size(joined)]


def check_columns(columns: Iterable[pa.Field], inside: str = "") -> None:
    """Refuse columns of types that no JSON value can give.

    Raises:
        ConfigurationError: a column, or a part of one, has such a type; the message has its name.
    """
    for column in columns:
        name, kind = inside + column.name, column.type
        if any(test(kind) for test in _UNREADABLE):
            raise ConfigurationError(
                f"column {name!r} is {kind}, which cannot be read from JSON: give a struct with the fields that are "
                "needed, or read the events raw and parse them in your own code"
            )
        check_columns(_inner(kind), f"{name}.")


def _contains(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    return test(kind) or any(_contains(inner.type, test) for inner in _inner(kind))


def _inner(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    return [kind.value_field] if pa.types.is_list(kind) else []


def _is_time(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and bool(kind.unit == "us")


def _is_coded(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or _is_time(kind)


def _as_read(kind: pa.DataType, *, times_are_texts: bool) -> pa.DataType:
    """The type for the reader. Dates are read as texts, for which it expects numbers, and bytes as texts in base64."""
    if pa.types.is_date32(kind) or pa.types.is_binary(kind) or (times_are_texts and _is_time(kind)):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_read(field.type, times_are_texts=times_are_texts)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_as_read(kind.value_type, times_are_texts=times_are_texts)))
    return kind


def _as_wanted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as the reader has made it, in the type of the schema; bytes are in base64, times may be texts."""
    if pa.types.is_binary(kind):
        return bytes_of(column)
    if _is_time(kind) and pa.types.is_string(column.type):
        return times_of(column).cast(pa.int64()).cast(kind)
    if column.type == kind or not _contains(kind, _is_coded) or _is_time(kind):
        return column.cast(kind)
    if pa.types.is_struct(kind):
        parts = [_as_wanted(column.field(index), field.type) for index, field in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=column.is_null())
    return pa.ListArray.from_arrays(
        column.offsets, _as_wanted(column.values, kind.value_type), type=kind, mask=column.is_null()
    )


def _with_numbers(event: bytes, schema: pa.Schema) -> bytes | None:
    """An event whose texts of numbers are without quotes where a column has real numbers; None: it is not JSON."""
    marks = {f"{text.decode()} {number}": text for number, text in enumerate(_NOT_FINITE.findall(event))}
    names = iter(marks)
    marked = _NOT_FINITE.sub(lambda _: b'"' + next(names).encode() + b'"', event)
    try:
        value = json.loads(marked)
    except (ValueError, RecursionError):
        return None
    reals = set(_texts_of_reals(value, pa.struct(schema)))
    names = iter(marks)

    def original(_: re.Match[bytes]) -> bytes:
        name = next(names)
        text: bytes = marks[name]
        return text if name in reals else b'"' + text + b'"'

    return _NOT_FINITE.sub(original, event)


def _texts_of_reals(value: Any, kind: pa.DataType) -> Iterator[str]:
    """The texts that stand where a type has real numbers."""
    if pa.types.is_floating(kind) and isinstance(value, str):
        yield value
    elif pa.types.is_struct(kind) and isinstance(value, dict):
        for field in kind:
            yield from _texts_of_reals(value.get(field.name), field.type)
    elif pa.types.is_list(kind) and isinstance(value, list):
        for item in value:
            yield from _texts_of_reals(item, kind.value_type)


def _size(one: pa.BinaryArray) -> int:
    return int(np.frombuffer(one.buffers()[1], np.int32, 2)[1])


def _reason(error: pa.ArrowException) -> str:
    """The reader's reason, without its row numbers and without the object around the event."""
    said = str(error).split(" in row ")[0].removeprefix("JSON parse error: ").rstrip(".")
    if "UTF8" in said:
        return "it is not UTF-8"
    if wrong := _OTHER_TYPE.search(said):
        field, wanted, actual = wrong.groups()
        return f"{field.lstrip('/') or 'it'} is of type {actual}, but read as {wanted}"
    return said
