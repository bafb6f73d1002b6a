"""Record batches as text or as a file: tables for people, CSV, JSON, Parquet. A file appears whole, or not at all."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol
from uuid import uuid4

import pyarrow as pa

from aiopravega.commands.common import Options, decided, table
from aiopravega.commands.grammar import SHOWN_CONTROLS
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.schema.json.columns.encoder import JsonEncoder

# Rows of a table for people that are laid out at a time.
_BLOCK: Final = 1_000
_ON_ONE_LINE: Final = SHOWN_CONTROLS | {ord("\n"): "\\n", ord("\t"): "\\t"}


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def print_table(rows: pa.RecordBatchReader) -> int:
    """Print rows in columns, a thousand at a time; returns how many there were."""
    seen, block = 0, list[list[str]]()
    for batch in rows:
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            block.append(list(map(cell, row)))
            if len(block) == _BLOCK:
                print(table(rows.schema.names, block))
                block.clear()
        seen += batch.num_rows
    if block or not seen:
        print(table(rows.schema.names, block))
    return seen


def cell(value: Any) -> str:
    """A value on one line, without what a terminal would obey."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return text.translate(_ON_ONE_LINE)


class _Lines:
    """JSON, an object a line, with null where there is no value."""

    def __init__(self, sink: BinaryIO, schema: pa.Schema) -> None:
        self._sink, self._encoder = sink, JsonEncoder(schema.names, nulls=True)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        plain = [column.dictionary_decode() if hasattr(column, "dictionary_decode") else column for column in batch]
        for line in self._encoder.columns(plain, batch.num_rows).to_pylist():
            self._sink.write(line + b"\n")

    def close(self) -> None:
        """Do nothing: the lines are written."""


def _csv(sink: BinaryIO, schema: pa.Schema) -> _Writer:
    from pyarrow.csv import CSVWriter

    writer: _Writer = CSVWriter(sink, schema)
    return writer


def _parquet(sink: BinaryIO, schema: pa.Schema) -> _Writer:
    from pyarrow.parquet import ParquetWriter

    writer: _Writer = ParquetWriter(sink, schema)
    return writer


_WRITERS: Final[dict[str, Callable[[BinaryIO, pa.Schema], _Writer]]] = {
    "csv": _csv,
    "json": _Lines,
    "parquet": _parquet,
}
_ENDINGS: Final = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}


def form_of(file: Path) -> str:
    """The form that the ending of a file's name says.

    Raises:
        ConfigurationError: it says none.
    """
    form = _ENDINGS.get(file.suffix.lower())
    if form is None:
        raise ConfigurationError(f"{file.name!r}: the ending says no form: use one of {', '.join(_ENDINGS)}")
    return form


def write_rows(form: str, sink: BinaryIO, rows: pa.RecordBatchReader) -> int:
    """Write rows in a form; returns how many there were.

    Raises:
        ConfigurationError: a column does not fit the form.
    """
    names = rows.schema.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice and form != "csv":
        raise ConfigurationError(f"two columns have the name {twice[0]!r}: name them apart, by AS for example")
    with _fitting(form, rows.schema):
        writer = _WRITERS[form](sink, rows.schema)
    seen = 0
    for batch in rows:
        with _fitting(form, rows.schema):
            writer.write_batch(batch)
        seen += batch.num_rows
    writer.close()
    return seen


@contextmanager
def _fitting(form: str, schema: pa.Schema) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        raise ConfigurationError(
            f"a column does not fit {form} ({error}); the columns are {columns}. Change its type, or the form"
        ) from None


def print_rows(form: str, rows: pa.RecordBatchReader) -> int:
    """Print rows in a form; returns how many there were.

    Raises:
        ConfigurationError: a column does not fit the form.
    """
    seen = print_table(rows) if form == "table" else write_rows(form, sys.stdout.buffer, rows)
    sys.stdout.flush()
    return seen


def may_write(options: Options, file: Path) -> bool:
    """True if the file is not there yet, or may be replaced: a person is asked."""
    return not file.exists() or decided(options, f"{file} is there already: it is replaced.")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a block a file to write, which replaces `path` in one step at its end; a block that raises leaves nothing.

    Raises:
        ConfigurationError: the file cannot be made there.
    """
    made = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with made.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except OSError as error:
        if isinstance(error, PravegaError):
            raise  # a timeout of the cluster
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(FileNotFoundError):
            made.unlink()
