"""A range as a LazyFrame of Polars: read when it is collected, a few megabytes at a time."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from aiopravega.blocking.registry import SchemaRegistry
from pravega_jobs.frames.conditions import parts_with_rows
from pravega_jobs.frames.options import ReadOptions
from pravega_jobs.frames.read import PlannedRead, ReadableRange, plan_read
from pravega_jobs.frames.tables import need, to_polars

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)


def scan_polars(
    of: ReadableRange, *, registry: SchemaRegistry | None = None, **options: Unpack[ReadOptions]
) -> "pl.LazyFrame":
    """The events of a range as a LazyFrame of Polars, which reads the range each time it is collected.

    Only columns that the query needs become Polars' columns, its conditions are applied to each batch, and a limit ends
    the read. Of raw events, conditions on `scope`, `stream`, `segment_id` and `offset` leave out segments: nothing of
    them is fetched, and the log (INFO) says how many are left. All other bytes of the range are fetched.

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
        for frame in _frames(planned if predicate is None else _pruned(planned, predicate), columns, rows):
            yield frame if predicate is None else frame.filter(predicate)

    schema = to_polars(planned.decoding.schema.empty_table()).schema
    return register_io_source(batches, schema=schema)


def _pruned(planned: PlannedRead, condition: "pl.Expr") -> PlannedRead:
    """The read without segments that have no row for which the condition is true."""
    if planned.decoding.decode is not None:  # a column of the events may have one of these names
        return planned
    parts = tuple(parts_with_rows(condition, planned.parts))
    pruned = replace(planned, parts=parts)
    logger.info(
        "%s: the condition %s leaves %d of %d segments to read, %s of %s bytes",
        planned.stream,
        condition,
        len(parts),
        len(planned.parts),
        f"{pruned.size:,}",
        f"{planned.size:,}",
    )
    return pruned


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
