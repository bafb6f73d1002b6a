"""Key-value tables: small values under fixed-length keys, with conditional updates."""

from aiopravega.tables.table import KeyValueTable, TableEntry

__all__ = ["KeyValueTable", "TableEntry"]
