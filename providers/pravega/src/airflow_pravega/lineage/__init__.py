"""What tasks have read and written, for OpenLineage, if its provider is installed.

`found` knows nothing of OpenLineage and is what operators note; `facets` turns that into OpenLineage's datasets, and is
imported only when OpenLineage asks; `assets` names the dataset of an asset.
"""

from airflow_pravega.lineage.found import (
    FileData,
    Lineage,
    ReportsLineage,
    StreamChange,
    StreamData,
    changed_stream,
    columns_of,
    range_read,
    written_once,
)

__all__ = [
    "FileData",
    "Lineage",
    "ReportsLineage",
    "StreamChange",
    "StreamData",
    "changed_stream",
    "columns_of",
    "range_read",
    "written_once",
]
