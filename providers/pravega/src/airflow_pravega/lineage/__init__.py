"""Inputs and outputs of tasks for OpenLineage, if its provider is installed.

`data` has the values that operators keep, and does not know OpenLineage; `facets` turns them into OpenLineage's
datasets, and is imported when OpenLineage asks; `reporting` has the functions that OpenLineage's provider calls.
"""

from airflow_pravega.lineage.data import (
    FileData,
    Lineage,
    StreamChange,
    StreamData,
    changed_stream,
    columns_of,
    range_read,
    written_once,
)
from airflow_pravega.lineage.reporting import ReportsLineage

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
