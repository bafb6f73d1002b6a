"""Tables of Arrow, pandas and Polars, and record batches: from Arrow, and to it.

pandas and Polars are imported only where they are used.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

_ROWS: Final = 10_000


def need(package: str) -> None:
    """Refuse to continue without a package.

    Raises:
        ConfigurationError: it is not installed.
    """
    if find_spec(package) is None:
        raise ConfigurationError(f"{package} is not installed: pip install {package}")


def _arrow(table: pa.Table) -> Any:
    return table


def to_pandas(table: pa.Table) -> Any:
    """A DataFrame of pandas with the rows of a table.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    need("pandas")
    import pandas as pd

    # Arrow's own types: whole numbers with nulls would become floating ones, and lose digits.
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def to_polars(table: pa.Table) -> Any:
    """A DataFrame of Polars with the rows of a table.

    Raises:
        ConfigurationError: Polars is not installed.
    """
    need("polars")
    import polars as pl

    return pl.from_arrow(table)


_PANDAS: Final = ("pandas", "DataFrame")
_DUCKDB: Final = ("duckdb", "DuckDBPyRelation")
_TO_BATCHES: Final = (
    ("pyarrow", "RecordBatchReader"),
    ("pyarrow", "RecordBatch"),
    ("pyarrow", "Table"),
    _PANDAS,
    ("polars", "DataFrame"),
    ("polars", "LazyFrame"),
    _DUCKDB,
)
# By the package and the name of the type, so that the lookup imports no package.
_FROM_TABLE: Final[dict[tuple[str, str], Callable[[pa.Table], Any]]] = {
    ("pyarrow", "Table"): _arrow,
    _PANDAS: to_pandas,
    ("polars", "DataFrame"): to_polars,
}
TABLES: Final = (
    "a pyarrow.RecordBatchReader, RecordBatch or Table, a pandas.DataFrame, a polars.DataFrame or LazyFrame, or a "
    "duckdb.DuckDBPyRelation"
)


def table_type(kind: Any) -> Callable[[pa.Table], Any] | None:
    """The function that converts an Arrow table to this type; None: the type is not a table.

    Raises:
        ConfigurationError: its package is not installed.
    """
    if kind is Any or kind is None:
        return _arrow
    package, name = str(getattr(kind, "__module__", "")).partition(".")[0], getattr(kind, "__name__", "")
    if (package, name) in _FROM_TABLE:
        need(package)
    return _FROM_TABLE.get((package, name))


def hold_size(stream: StreamName, size: int, limit: str, largest: int, ways: str) -> None:
    """Refuse a range that is too large for memory.

    Args:
        stream: the stream of the range.
        size: bytes of the range.
        limit: the name of the limit with its value, as its caller gives it.
        largest: the most bytes.
        ways: the ways out.

    Raises:
        ConfigurationError: the range has more bytes.
    """
    if size > largest:
        raise ConfigurationError(
            f"the range of {stream} has {size:,} bytes, and as a table it would be in memory as a whole, which {limit} "
            f"forbids: {ways}"
        )


def check_sql_names(names: Sequence[str], of: str) -> None:
    """Refuse columns that SQL takes for one: their names differ in their case only.

    Args:
        names: of the columns.
        of: the table, for the message.

    Raises:
        ConfigurationError: two of them do.
    """
    lower = [name.lower() for name in names]
    twice = [name for name in names if lower.count(name.lower()) > 1]
    if twice:
        raise ConfigurationError(
            f"{of} has the columns {', '.join(twice)}, which are one in SQL: read it with other names, by the option "
            "columns, or by Polars or Arrow"
        )


def is_table(value: Any) -> bool:
    """True if `batches_of` takes the value."""
    return _kind_of(value) in _TO_BATCHES


def check_table(value: Any) -> None:
    """Refuse a value that is not a table, or that would lose its index.

    Raises:
        ConfigurationError: the message names the type, or the index.
    """
    if not is_table(value):
        raise ConfigurationError(f"the rows are {type(value)}, but must be {TABLES}")
    if _kind_of(value) == _PANDAS:
        _check_index(value)


def batches_of(value: Any) -> pa.RecordBatchReader:
    """The rows of a value, which `check_table` has accepted."""
    match _kind_of(value):
        case "pyarrow", "RecordBatchReader":
            return value
        case "pyarrow", "RecordBatch":
            return pa.RecordBatchReader.from_batches(value.schema, [value])
        case "pyarrow", "Table":
            return value.to_reader(max_chunksize=_ROWS)
        case "pandas", "DataFrame":
            return _of_pandas(value).to_reader(max_chunksize=_ROWS)
        case "polars", name:
            frame = value.collect() if name == "LazyFrame" else value
            return frame.to_arrow().to_reader(max_chunksize=_ROWS)
        case "duckdb", _:
            return value.to_arrow_reader(_ROWS)
    raise AssertionError(f"{type(value)} was not checked")


def row_count(value: Any) -> int | None:
    """The number of rows of a value; None: it is not known before the last of them was read."""
    match _kind_of(value):
        case "pyarrow", "RecordBatch" | "Table":
            return int(value.num_rows)
        case "pandas" | "polars", "DataFrame":
            return len(value)
    return None


def schema_of(value: Any) -> pa.Schema | None:
    """The columns of a value; None: it is a LazyFrame, or not a table."""
    match _kind_of(value):
        case "pyarrow", "RecordBatchReader" | "RecordBatch" | "Table":
            return value.schema
        case "pandas", "DataFrame":
            return _of_pandas(value).schema
        case "polars", "DataFrame":
            return value.head(0).to_arrow().schema
        case "duckdb", _:
            return value.limit(0).to_arrow_table().schema
    return None


def _kind_of(value: Any) -> tuple[str, str]:
    """The package and the name of a value's type."""
    return type(value).__module__.partition(".")[0].lstrip("_"), type(value).__name__


def _of_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError) as error:  # of mixed or unknown types, or of equal names
        reason = "; ".join(map(str, error.args))
        raise ConfigurationError(
            f"the pandas.DataFrame cannot become a table: {reason}. Give each column one type, and a name of its own"
        ) from None


def _check_index(frame: Any) -> None:
    """Refuse an index that has data. Whole numbers without a name only count rows, also after a filter."""
    index = frame.index
    if len(index) and (index.names != [None] or index.inferred_type != "integer"):
        raise ConfigurationError(
            "the pandas.DataFrame has an index of its own, which is not a part of events: make it a column by "
            "reset_index(), or leave it out by reset_index(drop=True)"
        )
