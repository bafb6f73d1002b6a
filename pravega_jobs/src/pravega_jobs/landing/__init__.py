"""Landing: the rows of an interval in a table exactly once, whatever is killed, repeated, or comes late."""

from pravega_jobs.landing.compare import compare, compared_table
from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.error_lists import (
    ErrorsCount,
    ErrorsState,
    IntervalErrors,
    count_errors,
    list_errors,
    read_errors,
)
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.land import holdings, land
from pravega_jobs.landing.parquet import ParquetFolder
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.rules import Action, Holding, Landed, Landing, Standing, decide
from pravega_jobs.landing.table_kind import LandingTable, TableKind
from pravega_jobs.landing.targets import catalog_table, folder_of, kind_of_table, shown_table, table_of
from pravega_jobs.landing.written_streams import WrittenStream

__all__ = [
    "Action",
    "DeltaFolder",
    "ErrorsCount",
    "ErrorsState",
    "ErrorsStream",
    "Holding",
    "Iceberg",
    "IntervalErrors",
    "Landed",
    "Landing",
    "LandingTable",
    "ParquetFolder",
    "Postgres",
    "Standing",
    "TableKind",
    "WrittenStream",
    "catalog_table",
    "compare",
    "compared_table",
    "count_errors",
    "decide",
    "folder_of",
    "holdings",
    "kind_of_table",
    "land",
    "list_errors",
    "read_errors",
    "shown_table",
    "table_of",
]
