"""Ranges of streams in tables exactly once: `land(frame, table, cuts)`, and what a table holds: `holdings(table)`.

The rules are in `pravega_jobs.landing`, since what a table holds can be asked without Spark.
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
