"""Keeping: tables that follow a stream by themselves, from the next range to the upkeep."""

from pravega_jobs.keeping.keep_table import Kept, keep_range, keep_table, put_rows, with_upkeep
from pravega_jobs.keeping.rules import KeepRules

__all__ = ["KeepRules", "Kept", "keep_range", "keep_table", "put_rows", "with_upkeep"]
