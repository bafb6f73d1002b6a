"""Frames: ranges of streams as tables of Arrow, Polars and pandas, and tables written to streams once, without Spark.

It needs the extra `arrow` of pravega-jobs. Polars, pandas and DuckDB are used if they are installed. Each name is
imported when it is first used (`aiopravega.lazy`): a read needs nothing of writes.
"""

from typing import TYPE_CHECKING

from aiopravega.lazy import lazy_names

if TYPE_CHECKING:
    from pravega_jobs.frames.by_column import write_by_column
    from pravega_jobs.frames.read import (
        LARGEST_TABLE,
        StreamRange,
        range_of,
        read_arrow,
        read_pandas,
        read_polars,
        read_table,
    )
    from pravega_jobs.frames.scan import scan_duckdb, scan_polars
    from pravega_jobs.frames.several import RowsByKey, write_streams
    from pravega_jobs.frames.write import write_arrow

__all__ = [
    "LARGEST_TABLE",
    "RowsByKey",
    "StreamRange",
    "range_of",
    "read_arrow",
    "read_pandas",
    "read_polars",
    "read_table",
    "scan_duckdb",
    "scan_polars",
    "write_arrow",
    "write_by_column",
    "write_streams",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "by_column": ("write_by_column",),
        "read": (
            "LARGEST_TABLE",
            "StreamRange",
            "range_of",
            "read_arrow",
            "read_pandas",
            "read_polars",
            "read_table",
        ),
        "scan": ("scan_duckdb", "scan_polars"),
        "several": ("RowsByKey", "write_streams"),
        "write": ("write_arrow",),
    },
)
