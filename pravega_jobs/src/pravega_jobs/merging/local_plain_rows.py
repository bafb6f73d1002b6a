"""Plain rows of this process as changes of a table, batch by batch. `row_frames` is its twin, for Spark."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, SEQUENCE
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.merging.plain_rows import DELETE, UPSERT, check_plain, lacks_text, needed
from pravega_jobs.merging.rules import MergeRules

_SIGN: Final = np.int64(-(2**63))


def changes_of_rows(value: Any, rules: MergeRules) -> pa.RecordBatchReader:
    """Plain rows as changes, in the types that tables have. They can be read once.

    Args:
        value: a table that `pravega_jobs.tables.check_table` has accepted.
        rules: the rules of the merge, with an order.

    Raises:
        ConfigurationError: a column is missing, of another type, or has a name that it must not have.
        LandingError: a column is of a type that tables do not have; while it is read: a value does not fit its type, or
            a row has no key or no position, or does not say whether it deletes.
    """
    rows = LocalRows(value)
    check_plain(rows.types(), rules)
    kept = [field for field in rows.arrow_schema() if field.name != rules.delete_column]
    schema = pa.schema([*kept, (CHANGE_TYPE, pa.string()), (SEQUENCE, pa.binary())])

    def changes() -> Iterator[pa.RecordBatch]:
        for batch in rows.batches():
            for name in needed(rules):
                if batch.column(name).null_count:
                    raise LandingError(lacks_text(name))
            marks = pa.repeat(pa.scalar(False), len(batch))
            if rules.delete_column is not None:
                marks = batch.column(rules.delete_column)
            kinds = pc.if_else(marks, DELETE, UPSERT)
            columns = [batch.column(field.name) for field in kept]
            yield pa.RecordBatch.from_arrays([*columns, kinds, _positions(batch, rules)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, changes())


def _positions(batch: pa.RecordBatch, rules: MergeRules) -> pa.Array:
    """Bytes that sort as the order does: eight for each of its columns, negative values first."""
    numbers = np.zeros((len(batch), len(rules.order_by or ())), ">i8")
    for index, name in enumerate(rules.order_by or ()):
        numbers[:, index] = _whole(batch.column(name)).to_numpy() ^ _SIGN
    width = numbers.itemsize * numbers.shape[1]
    if not width:
        return pa.repeat(pa.scalar(b"", pa.binary()), len(batch))
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(batch), [None, pa.py_buffer(numbers.tobytes())])
    return fixed.cast(pa.binary())


def _whole(values: pa.Array) -> pa.Array:
    """The values of an order as whole numbers: days or microseconds since 1970, for dates and timestamps."""
    return (values.cast(pa.int32()) if pa.types.is_date32(values.type) else values).cast(pa.int64())
