"""Times in Parquet files in a type that Delta's and Iceberg's libraries know, while a block of code writes files.

Spark has a setting of the session for it, and no option of a write. Threads may land in one session at a time: the
setting is changed by the first of them and put back by the last one.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTING: Final = "spark.sql.parquet.outputTimestampType"
_lock = threading.Lock()
# By session: how many blocks run, and the setting before the first one.
_users: "dict[SparkSession, tuple[int, str | None]]" = {}


@contextmanager
def known_timestamps(spark: "SparkSession") -> Iterator[None]:
    """Have Spark write times as microseconds, and not by its default, INT96."""
    with _lock:
        count, before = _users.get(spark) or (0, spark.conf.get(_SETTING))
        spark.conf.set(_SETTING, "TIMESTAMP_MICROS")
        _users[spark] = count + 1, before
    try:
        yield
    finally:
        with _lock:
            count, before = _users.pop(spark)
            if count > 1:
                _users[spark] = count - 1, before
            else:
                spark.conf.set(_SETTING, before or "INT96")
