"""Rows for a table of PostgreSQL, copied into a staging table in one transaction.

Columns of Arrow become the lines that COPY takes in its text format; types without a text are refused. Rows that are
copied again get another name: the landing takes the rows under the names that count.
"""

import io
import json
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.postgres_sql import quoted, transaction
from pravega_jobs.landing.rows import Copied

if TYPE_CHECKING:
    import pyarrow as pa

# The column of a staging table that names the try of a task.
STAGED_BY: Final = "pravega_staged_by"

# Types of Spark, and the types of PostgreSQL that hold all their values.
POSTGRES_TYPES: Final = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_NULL: Final = "\\N"
# In this order: the backslash of the others must not be doubled.
_ESCAPES: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def postgres_type(column: str, spark_type: str) -> str:
    """The type of PostgreSQL for a type of Spark, as `simpleString` spells it.

    Raises:
        LandingError: there is none whose text is the same for both.
    """
    if spark_type.startswith("decimal("):
        return spark_type.replace("decimal", "numeric")
    if spark_type not in POSTGRES_TYPES:
        raise LandingError(
            f"column {column!r} is {spark_type}, for which PostgreSQL has no column of the same values: make it text, "
            f"for example by to_json({column})"
        )
    return POSTGRES_TYPES[spark_type]


def copy_lines(batches: "Iterator[pa.RecordBatch]", last: str) -> "Iterator[tuple[int, bytes]]":
    """The number of rows and the lines of each batch; `last` ends each line.

    Raises:
        LandingError: a text has the character of code 0, which PostgreSQL cannot store.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def text(name: str, column: "pa.Array") -> "pa.Array":
        if pa.types.is_list(column.type):  # of names, which a merge stages
            column = pa.array(
                [None if value is None else json.dumps(value) for value in column.to_pylist()], pa.string()
            )
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            values = (value.as_py() for value in column)
            column = pa.array([None if value is None else f"\\\\x{value.hex()}" for value in values], pa.string())
            return pc.fill_null(column, _NULL)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC"))
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        column = column.cast(pa.string())
        if is_text:
            if pc.any(pc.match_substring(column, "\0")).as_py():
                raise LandingError(f"column {name!r} has a text with the character of code 0, which PostgreSQL refuses")
            for found, escaped in _ESCAPES:
                column = pc.replace_substring(column, found, escaped)
        return pc.fill_null(column, _NULL)

    for batch in batches:
        if not batch.num_rows:
            continue
        columns = [text(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        lines = pc.binary_join_element_wise(*columns, last, "\t").to_pylist()
        yield batch.num_rows, ("\n".join(lines) + "\n").encode()


def copy_batches(batches: "Iterator[pa.RecordBatch]", dsn: str, staging: str, names: tuple[str, ...]) -> Copied:
    """Copy batches into a staging table in one transaction, as the rows of a new try.

    Raises:
        LandingError: the server cannot be reached or refuses, or a text cannot be stored.
    """
    task, rows = uuid.uuid4().hex, 0
    columns = ", ".join(map(quoted, (*names, STAGED_BY)))
    with transaction(dsn) as cursor:
        for count, lines in copy_lines(batches, task):
            cursor.copy_expert(f"copy {staging} ({columns}) from stdin", io.BytesIO(lines))
            rows += count
    return Copied(task, rows)
