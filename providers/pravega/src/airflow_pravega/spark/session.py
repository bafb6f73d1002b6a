"""A Spark session for one task: on this machine, on a cluster by its master's URL, or by Spark Connect."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from airflow.sdk.exceptions import AirflowOptionalProviderFeatureException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

LOCAL: Final = "local[*]"
CONNECT: Final = "sc://"
# Set by PySpark while it talks Spark Connect, and left behind: all of this process would go on to talk it.
_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


@contextmanager
def spark_session(name: str, master: str, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session that ends with the block. One that runs in this process already is used as it is, and goes on.

    Args:
        name: its name in Spark's own pages.
        master: `local[*]`, `local-cluster[…]`, `spark://host:port`, `yarn`, …, or the URL of a Spark Connect server,
            `sc://host:port`, whose Python has the data source then.
        conf: Spark's settings. Credentials do not belong here: whoever sees the session sees them.

    Raises:
        AirflowOptionalProviderFeatureException: Spark, or Pravega's data source for it, is not installed.
    """
    connect = master.startswith(CONNECT)
    needed = ("pyspark", "grpc_status", "zstandard") if connect else ("pyspark", "pyspark_pravega")
    if any(find_spec(name) is None for name in needed):
        if connect:
            raise AirflowOptionalProviderFeatureException(
                "master is the URL of a Spark Connect server, and its client is not installed where the task runs: "
                "pip install 'pyspark[connect]'"
            )
        raise AirflowOptionalProviderFeatureException(
            "the Spark operators need Spark and its Pravega data source where the task runs: "
            "pip install 'airflow-provider-pravega[spark]'"
        )
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        logger.info("Using the Spark session of this process; master %s and its settings are not looked at", master)
        yield running
        return
    if master.startswith("local"):
        # Spark's workers take the first `python3` on the path, which may lack what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    builder = builder.remote(master) if connect else builder.master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    mode = os.environ.get(_CONNECT_MODE)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        if connect and mode is None:
            os.environ.pop(_CONNECT_MODE, None)


@contextmanager
def interruptible(spark: "SparkSession", name: str) -> Iterator[Callable[[], object]]:
    """Run the jobs of a block so that the function that is yielded cancels them, whatever thread calls it."""
    mark = f"airflow-{uuid4()}"
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        spark.addTag(mark)
        try:
            yield partial(spark.interruptTag, mark)
        finally:
            spark.removeTag(mark)
        return
    # A group: outside Spark Connect, a tag is known only to the thread that set it.
    spark.sparkContext.setJobGroup(mark, name, interruptOnCancel=True)
    try:
        yield partial(spark.sparkContext.cancelJobGroup, mark)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None clears it
