"""Partitions of a Delta table: the columns whose values its log has for each file, as text, and its files do not have.

A table gets them when it is made. Readers find files and values by the log; some also want a folder for each value.
"""

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow as pa

from aiopravega.errors import LandingError
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.splitting import Split, check_same
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST: Final = 255  # characters of a folder's name
# Others lose something as text: libraries write decimals and times in ways that others read differently.
_TYPES: Final = (pa.types.is_string, pa.types.is_signed_integer, pa.types.is_date32, pa.types.is_boolean)


@dataclass(frozen=True, slots=True)
class DeltaPartition:
    """A partition column."""

    name: str

    @property
    def column(self) -> str:
        """The column itself."""
        return self.name

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The values of the column."""
        return column

    def folder(self, value: Any) -> str:
        """The name of the folder of files with a value, as Hive has made them, with percents for other characters.

        Raises:
            LandingError: the value is an empty text, which all readers of Delta take for null, or too long for a name.
        """
        text = text_of(value)
        if text == "":
            raise LandingError(
                f"column {self.name!r} has an empty text, which Delta reads as null in a partition column: make it "
                "null or another text. Nothing was changed"
            )
        name = f"{quote(self.name, safe='')}={_NULL if text is None else quote(text, safe='')}"
        if len(name) > _LONGEST:
            raise LandingError(
                f"column {self.name!r} has a text that makes a name of {len(name)} characters for a folder, more than "
                f"{_LONGEST}: split the rows by a shorter one. Nothing was changed"
            )
        return name


def split_for(table: "DeltaTable | None", columns: pa.Schema, landing: Landing) -> Split | None:
    """The partitions by which rows are split; None: the table has none.

    Args:
        table: the table; None: it is made with those that the landing names.
        columns: the columns of the rows, with those that a landing adds.
        landing: the landing.

    Raises:
        LandingError: the table has other partitions than the landing names, a column of a new table is not in the rows,
            or a column has a type that landings do not split rows by.
    """
    asked = [str(each) for each in landing.partition_by]
    names = asked if table is None else list(table.metadata().partition_columns)
    check_same(landing, asked, names)
    lacking = [name for name in asked if name not in columns.names]
    if lacking and table is None:
        raise LandingError(
            f"{landing}: partition_by has {', '.join(lacking)}, and the rows have {', '.join(columns.names)}. Nothing "
            "was changed"
        )
    known = columns if table is None else pa.schema(table.schema().to_arrow())
    for name in names:
        kind = known.field(name).type
        if not any(test(kind) for test in (*_TYPES, pa.types.is_large_string, pa.types.is_string_view)):
            raise LandingError(
                f"{landing}: the partition column {name} is {kind}; rows are split by text, whole numbers, dates and "
                "booleans: use a table that is partitioned by such columns. Nothing was changed"
            )
    if set(columns.names) <= set(names):
        raise LandingError(f"{landing}: all columns are partitions, so that files have none. Nothing was changed")
    return Split(tuple(map(DeltaPartition, names)), leaves_out=True) if names else None


def texts_of(split: Split | None, file: StagedFile) -> dict[str, str | None]:
    """The values of a file's partition, as the log has them."""
    return {} if split is None else dict(zip(split.names, map(text_of, file.partition), strict=True))


def whole_rows(staged: StagedFiles, table: "DeltaTable") -> pa.RecordBatchReader:
    """The rows of files with all partition columns of their table; null, if the rows do not have one."""
    columns = pa.schema(table.schema().to_arrow())
    reader = staged.batches()
    lacking = [columns.field(each) for each in table.metadata().partition_columns if each not in reader.schema.names]
    if not lacking:
        return reader
    schema = pa.schema([*reader.schema, *lacking])

    def whole(batch: pa.RecordBatch) -> pa.RecordBatch:
        nulls = [pa.nulls(batch.num_rows, each.type) for each in lacking]
        return pa.RecordBatch.from_arrays([*batch.columns, *nulls], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(whole, reader))


def text_of(value: Any) -> str | None:
    """A value of a partition column as the log has it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, dt.date) else str(value)
