"""Ranges of streams in tables exactly once: `land(frame, table, cuts)`; the intervals of a table: `holdings(table)`.

The rules are in `pravega_jobs.landing`, since the holdings of a table can be read without Spark.
"""

from pravega_jobs.landing import (
    Action,
    DeltaFolder,
    Holding,
    Iceberg,
    Landed,
    LandingTable,
    ParquetFolder,
    Postgres,
    holdings,
    land,
    table_of,
)

__all__ = [
    "Action",
    "DeltaFolder",
    "Holding",
    "Iceberg",
    "Landed",
    "LandingTable",
    "ParquetFolder",
    "Postgres",
    "holdings",
    "land",
    "table_of",
]
