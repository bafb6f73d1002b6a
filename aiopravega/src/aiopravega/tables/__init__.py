"""Key-value tables: small values under fixed-length keys, with conditional updates."""

from aiopravega.tables.conditional import TableEntry
from aiopravega.tables.table import KeyValueTable

__all__ = ["KeyValueTable", "TableEntry"]
