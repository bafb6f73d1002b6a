"""Merging: changes of database rows into a table, each range once, and no row back in time."""

from pravega_jobs.merging.merge import merge_into
from pravega_jobs.merging.rules import Counts, Deletes, Evolution, Ghosts, History, Merge, Merged, Settings, Unsent

__all__ = ["Counts", "Deletes", "Evolution", "Ghosts", "History", "Merge", "Merged", "Settings", "Unsent", "merge_into"]
