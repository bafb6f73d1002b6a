"""Tables from changes: DataFrames of `decode=debezium-json` as the table at a cut, or merged into a table; and back.

What merges do is in `pravega_jobs.merging`, since schedulers merge, too.
"""

from pravega_jobs.landing import Holding, holdings
from pravega_jobs.merging import Counts, Deletes, Evolution, Ghosts, History, Merged, Unsent, merge_into
from pravega_jobs.merging.change_frames import current, last_changes
from pravega_jobs.merging.ghost_frames import ghosts
from pyspark_pravega.encode.images import to_debezium

__all__ = [
    "Counts",
    "Deletes",
    "Evolution",
    "Ghosts",
    "History",
    "Holding",
    "Merged",
    "Unsent",
    "current",
    "ghosts",
    "holdings",
    "last_changes",
    "merge_into",
    "to_debezium",
]
