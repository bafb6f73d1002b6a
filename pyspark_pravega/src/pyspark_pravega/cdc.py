"""Tables from changes: DataFrames of `decode=debezium-json` as the table at a cut, or merged into a table.

What they do is in `aiopravega.jobs.merging`, since schedulers merge, too.
"""

from aiopravega.jobs.landing import Holding, holdings
from aiopravega.jobs.merging import Counts, Deletes, Evolution, Merged, Unsent, merge_into
from aiopravega.jobs.merging.change_frames import current, last_changes

__all__ = [
    "Counts",
    "Deletes",
    "Evolution",
    "Holding",
    "Merged",
    "Unsent",
    "current",
    "holdings",
    "last_changes",
    "merge_into",
]
