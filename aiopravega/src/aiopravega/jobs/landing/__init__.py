"""Landing: the rows of an interval in a table exactly once, whatever is killed, repeated, or comes late."""

from aiopravega.jobs.landing.compare import compare
from aiopravega.jobs.landing.delta_folder import DeltaFolder
from aiopravega.jobs.landing.iceberg import Iceberg
from aiopravega.jobs.landing.land import holdings, land
from aiopravega.jobs.landing.parquet_folder import ParquetFolder
from aiopravega.jobs.landing.postgres import Postgres
from aiopravega.jobs.landing.rules import Action, Holding, Landed, Landing, decide
from aiopravega.jobs.landing.shown_tables import folder_of, shown_table
from aiopravega.jobs.landing.tables import LandingTable, table_of

__all__ = [
    "Action",
    "DeltaFolder",
    "Holding",
    "Iceberg",
    "Landed",
    "Landing",
    "LandingTable",
    "ParquetFolder",
    "Postgres",
    "compare",
    "decide",
    "folder_of",
    "holdings",
    "land",
    "shown_table",
    "table_of",
]
