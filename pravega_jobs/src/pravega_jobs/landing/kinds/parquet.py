"""The kind of tables that are folders of Parquet files."""

from typing import Final

from pravega_jobs.landing.parquet import ParquetFolder
from pravega_jobs.landing.table_kind import TableKind

KIND: Final = TableKind(
    title="Parquet",
    words=("parquet",),
    form="parquet:/folder",
    parse=lambda text: ParquetFolder(text.partition(":")[2]),
    table_class=ParquetFolder,
    icon="parquet",
    names_folder=True,
    merge_advice="A folder of Parquet files cannot replace rows",
    upkeep_advice="A folder of Parquet files has a folder for each interval, with its note, which are not put together",
)
