"""Spark's types as Arrow's, whatever the version of PySpark.

PySpark can do it, but the argument that makes timestamps UTC was `timestamp_utc` (on by default) up to 4.2, and is
`timezone` since. This is the only module that calls it.
"""

import inspect
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_TIMEZONE: Final = "timezone"


def arrow_schema(columns: StructType) -> pa.Schema:
    """The columns as Arrow's types, in which Spark takes and gives batches: its timestamps are instants in UTC."""
    zone: dict[str, Any] = {_TIMEZONE: "UTC"} if _TIMEZONE in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(columns, **zone)
