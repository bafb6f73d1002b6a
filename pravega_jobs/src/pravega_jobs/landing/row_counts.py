"""The rows that a table has of each interval, counted from batches of its two own columns. No I/O of its own."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pravega_jobs.landing.rules import OWN_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


def count_rows(batches: "Iterable[pa.RecordBatch]") -> dict[tuple[str, str], int]:
    """How many rows each consumer and interval has. One batch is in memory at a time.

    Args:
        batches: with the columns `_consumer` and `_interval`, maybe among others.
    """
    import pyarrow as pa

    counts: Counter[tuple[str, str]] = Counter()
    consumer, interval = OWN_COLUMNS
    for batch in batches:
        table = pa.Table.from_batches([batch]).group_by(list(OWN_COLUMNS)).aggregate([([], "count_all")])
        for row in table.to_pylist():
            counts[row[consumer], row[interval]] += row["count_all"]
    return dict(counts)
