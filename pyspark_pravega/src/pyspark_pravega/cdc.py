"""Tables from changes: DataFrames of `decode=debezium-json` as the table at a cut, or merged into a table; and back.

The rules of merges are in `pravega_jobs.merging`, since schedulers also merge.
"""

from pravega_jobs.landing import Holding, holdings
from pravega_jobs.merging import (
    Counts,
    Deletes,
    Evolution,
    Ghosts,
    Merged,
    RowHistory,
    Unsent,
    merge_into,
)
from pravega_jobs.merging.change_frames import current, ghosts, last_changes
from pyspark_pravega.encode.images import to_debezium

__all__ = [
    "Counts",
    "Deletes",
    "Evolution",
    "Ghosts",
    "Holding",
    "Merged",
    "RowHistory",
    "Unsent",
    "current",
    "ghosts",
    "holdings",
    "last_changes",
    "merge_into",
    "to_debezium",
]
