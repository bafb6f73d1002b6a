"""Spark as the IO manager uses it: found when it is needed, and shaped rows for a stream."""

import logging
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

FORMAT: Final = "pravega"
LOCAL: Final = "local[*]"
_CONNECT: Final = "sc://"
_EVENT: Final = "event"
_ROUTING_KEY: Final = "routing_key"


def spark_session(master: str = LOCAL, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """The session of this process, which is made if there is none. It lives as long as the process.

    Assets that need Spark before they have an input of it should take it from here: on this machine, it lets Spark's
    workers use the Python of this process. `master` may be the URL of a Spark Connect server, `sc://host:port`, whose
    Python has the data source then.

    Raises:
        ConfigurationError: Spark, or Pravega's data source for it, is not installed.
    """
    connect = master.startswith(_CONNECT)
    needed = ("pyspark", "grpc_status", "zstandard") if connect else ("pyspark", "pyspark_pravega")
    if any(find_spec(name) is None for name in needed):
        package = "pyspark[connect]" if connect else "dagster-pravega[spark]"
        raise ConfigurationError(
            "PravegaSparkIOManager needs Spark where the step runs, and its Pravega data source unless a Spark Connect "
            f"server has it: pip install '{package}'"
        )
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        logger.info("Using the Spark session of this process; master %s and its settings are not looked at", master)
        return running
    if master.startswith("local"):
        # Spark's workers take the first `python3` on the path, which may lack what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("dagster-pravega")
    builder = builder.remote(master) if connect else builder.master(master)
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def as_events(frame: "DataFrame") -> "DataFrame":
    """The frame as it is if it has a column `event`; else its rows as JSON objects.

    A column `routing_key` stays what it is, and out of the JSON.
    """
    from pyspark.sql import functions

    if _EVENT in frame.columns:
        return frame
    keys = [functions.col(_ROUTING_KEY)] if _ROUTING_KEY in frame.columns else []
    values = functions.struct(*(f"`{name}`" for name in frame.columns if name != _ROUTING_KEY))
    # Without the option, a null would look like a column that does not exist.
    event = functions.to_json(values, {"ignoreNullFields": "false"})
    return frame.select(event.alias(_EVENT), *keys)
