"""A range as a lazy frame of Polars or a relation of DuckDB: read when it is computed, a few megabytes at a time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Unpack

import pyarrow as pa

from pravega_jobs.frames.conditions import polars_may_hold
from pravega_jobs.frames.limits import KnownColumns, limits_of
from pravega_jobs.frames.options import ReadOptions
from pravega_jobs.frames.read import ReadableRange, plan_read
from pravega_jobs.frames.reads import Scan
from pravega_jobs.tables import check_sql_names, need, to_polars

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow.compute as pc

    from aiopravega.blocking.registry import SchemaRegistry


def scan_polars(
    of: ReadableRange, *, registry: "SchemaRegistry | None" = None, **options: Unpack[ReadOptions]
) -> "pl.LazyFrame":
    """The events of a range as a LazyFrame of Polars, which reads the range each time it is collected.

    Only columns that the query needs become Polars' columns, its conditions are applied to each batch, and a limit ends
    the read. Conditions leave out as much as the filter of `read_arrow`, and the log (INFO) says how many
    segments and bytes are left to read.

    Args:
        of: the range, such as `take` and `range_of` give it. Its client has to be open when the frame is collected.
        registry: the Schema Registry; with it, and a group for the stream, events become columns without options.
        options: as of `read_arrow`.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or Polars is not installed.
        PravegaError: as `read_arrow`.
    """
    need("polars")
    return lazy_frame(plan_read(of, None, registry, options).scan)


def scan_duckdb(
    of: ReadableRange,
    *,
    filter: "pc.Expression | None" = None,
    connection: "duckdb.DuckDBPyConnection | None" = None,
    registry: "SchemaRegistry | None" = None,
    **options: Unpack[ReadOptions],
) -> "duckdb.DuckDBPyRelation":
    """The events of a range as a relation of DuckDB, which reads the range each time it is computed.

    DuckDB has a few megabytes of the range in memory, and what the query keeps. A query that names the relation twice
    reads the range twice.

    Args:
        of: the range, such as `take` and `range_of` give it. Its client has to be open when the relation is computed.
        filter: a condition, as of `read_arrow`: DuckDB's own conditions leave out nothing of the range.
        connection: the database of the relation; None: a new one, in memory.
        registry: the Schema Registry; with it, and a group for the stream, events become columns without options.
        options: as of `read_arrow`.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or DuckDB is not installed.
        PravegaError: as `read_arrow`. While DuckDB reads, its own error has the name and the text of ours.
    """
    need("duckdb")
    return relation(plan_read(of, None, registry, options, filter).scan, connection)


def lazy_frame(scan: Scan) -> "pl.LazyFrame":
    """A LazyFrame of Polars with the rows of a scan."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in _frames(scan if predicate is None else _pruned(scan, predicate), columns, rows):
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=to_polars(scan.schema.empty_table()).schema)


def relation(scan: Scan, connection: "duckdb.DuckDBPyConnection | None" = None) -> "duckdb.DuckDBPyRelation":
    """A relation of DuckDB with the rows of a scan; `connection` is its database, by default a new one."""
    import duckdb

    check_sql_names(scan.schema.names, "the range")
    return (connection or duckdb.connect()).from_arrow(scan)


def lazy_type(kind: Any) -> "Callable[[Scan], Any] | None":
    """The function that makes a lazy frame of this type of a scan; None: the type is another.

    Raises:
        ConfigurationError: its package is not installed.
    """
    package, name = str(getattr(kind, "__module__", "")).partition(".")[0].lstrip("_"), getattr(kind, "__name__", "")
    made = _LAZY.get((package, name))
    if made is not None:
        need(package)
    return made


_LAZY: Final[dict[tuple[str, str], Callable[[Scan], Any]]] = {
    ("polars", "LazyFrame"): lazy_frame,
    ("duckdb", "DuckDBPyRelation"): relation,
}


def _pruned(scan: Scan, condition: "pl.Expr") -> Scan:
    """The scan with the limits that the condition gives."""
    known = KnownColumns.of(scan.decoding, scan.unit)
    parts = [part for piece in scan.pieces for part in piece.parts]
    limits = limits_of(scan.client, parts, polars_may_hold(condition, known), known, condition)
    return replace(scan, limits=limits)


def _frames(scan: Scan, columns: list[str] | None, rows: int | None) -> "Iterator[pl.DataFrame]":
    """The batches as DataFrames, `rows` rows of them at most."""
    left = rows
    for batch in scan.batches(columns):
        frame = to_polars(pa.Table.from_batches([batch]))
        if left is not None:
            frame = frame.head(left)
            left -= frame.height
        yield frame
        if left == 0:
            return
