"""Merging: changes of database rows into a table, each range once, and no row back in time."""

from pravega_jobs.landing.rules import Evolution
from pravega_jobs.merging.merge import merge_changes, merge_into
from pravega_jobs.merging.merges import Counts, Merge, Merged
from pravega_jobs.merging.rules import Deletes, Ghosts, MergeRules, RowHistory, TableRules, Unsent

__all__ = [
    "Counts",
    "Deletes",
    "Evolution",
    "Ghosts",
    "Merge",
    "MergeRules",
    "Merged",
    "RowHistory",
    "TableRules",
    "Unsent",
    "merge_changes",
    "merge_into",
]
