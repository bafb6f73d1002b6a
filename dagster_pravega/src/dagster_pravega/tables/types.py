"""Types of inputs and outputs: tables of Arrow, pandas and Polars, and record batches.

pandas and Polars are imported only when an asset uses them.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.written import wrong_output

_ROWS: Final = 10_000
_PACKAGE: Final = "dagster-pravega"


def _arrow(table: pa.Table) -> Any:
    return table


def _pandas(table: pa.Table) -> Any:
    import pandas as pd

    # Arrow's own types: whole numbers with nulls would become floating ones, and lose digits.
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table)


_PANDAS: Final = ("pandas", "DataFrame")
_TO_BATCHES: Final = (
    ("pyarrow", "RecordBatchReader"),
    ("pyarrow", "RecordBatch"),
    ("pyarrow", "Table"),
    _PANDAS,
    ("polars", "DataFrame"),
    ("polars", "LazyFrame"),
)
# By the package and the name of the type, so that the lookup imports no package.
_FROM_TABLE: Final[dict[tuple[str, str], Callable[[pa.Table], Any]]] = {
    ("pyarrow", "Table"): _arrow,
    _PANDAS: _pandas,
    ("polars", "DataFrame"): _polars,
}
TYPES: Final = "StreamBatches, pyarrow.RecordBatchReader, pyarrow.Table, pandas.DataFrame or polars.DataFrame"


def table_type(kind: Any) -> Callable[[pa.Table], Any] | None:
    """The function that converts an Arrow table to this type; None: the type is not a table.

    Raises:
        ConfigurationError: its package is not installed.
    """
    if kind is Any or kind is None:
        return _arrow
    package, name = str(getattr(kind, "__module__", "")).partition(".")[0], getattr(kind, "__name__", "")
    if (package, name) in _FROM_TABLE and find_spec(package) is None:
        raise ConfigurationError(f"{package} is not installed: pip install '{_PACKAGE}[{package}]'")
    return _FROM_TABLE.get((package, name))


def check_table(value: Any) -> None:
    """Refuse an asset's value that is not a table, or that would lose its index.

    Raises:
        ConfigurationError: the message names the type, or the index.
    """
    if _kind_of(value) not in _TO_BATCHES:
        raise wrong_output(
            value,
            "a pyarrow.RecordBatchReader, RecordBatch or Table, a pandas.DataFrame, or a polars.DataFrame or LazyFrame "
            "for PravegaArrowIOManager; a DataFrame of Spark is for PravegaSparkIOManager",
        )
    if _kind_of(value) == _PANDAS:
        _check_index(value)


def batches_of(value: Any) -> pa.RecordBatchReader:
    """The rows of an asset's value, which `check_table` has accepted."""
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
    raise AssertionError(f"{type(value)} was not checked")


def schema_of(value: Any) -> pa.Schema | None:
    """The columns of an asset's value; None: it is a LazyFrame, or not a table."""
    match _kind_of(value):
        case "pyarrow", "RecordBatchReader" | "RecordBatch" | "Table":
            return value.schema
        case "pandas", "DataFrame":
            return _of_pandas(value).schema
        case "polars", "DataFrame":
            return value.head(0).to_arrow().schema
    return None


def _kind_of(value: Any) -> tuple[str, str]:
    """The package and the name of a value's type."""
    return type(value).__module__.partition(".")[0], type(value).__name__


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
