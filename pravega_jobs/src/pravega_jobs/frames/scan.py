"""A range as a LazyFrame of Polars: read when it is collected, a few megabytes at a time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from aiopravega.blocking.registry import SchemaRegistry
from pravega_jobs.frames.options import ReadOptions
from pravega_jobs.frames.read import PlannedRead, ReadableRange, plan_read
from pravega_jobs.tables import need, to_polars

if TYPE_CHECKING:
    import polars as pl


def scan_polars(
    of: ReadableRange, *, registry: SchemaRegistry | None = None, **options: Unpack[ReadOptions]
) -> "pl.LazyFrame":
    """The events of a range as a LazyFrame of Polars, which reads the range each time it is collected.

    Only columns that the query needs become Polars' columns, its conditions are applied to each batch, and a limit ends
    the read. The bytes of the whole range are fetched up to then: no condition leaves out segments.

    Args:
        of: the range, such as `take` and `range_of` give it. Its client has to be open when the frame is collected.
        registry: the Schema Registry; with it, and a group for the stream, events become columns without options.
        options: as of `read_arrow`.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or Polars is not installed.
        PravegaError: as `read_arrow`.
    """
    need("polars")
    import polars as pl
    from polars.io.plugins import register_io_source

    planned = plan_read(of, None, registry, options)

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in _frames(planned, columns, rows):
            yield frame if predicate is None else frame.filter(predicate)

    schema = to_polars(planned.decoding.schema.empty_table()).schema
    return register_io_source(batches, schema=schema)


def _frames(planned: PlannedRead, columns: list[str] | None, rows: int | None) -> "Iterator[pl.DataFrame]":
    """The batches as DataFrames, `rows` rows of them at most."""
    import pyarrow as pa

    left = rows
    for batch in planned.batches(columns):
        frame = to_polars(pa.Table.from_batches([batch]))
        if left is not None:
            frame = frame.head(left)
            left -= frame.height
        yield frame
        if left == 0:
            return
