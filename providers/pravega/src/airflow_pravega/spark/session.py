"""A Spark session for one task: on this machine, or on a cluster by its master's URL."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from airflow.sdk.exceptions import AirflowOptionalProviderFeatureException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

LOCAL: Final = "local[*]"


@contextmanager
def spark_session(name: str, master: str, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session that ends with the block. One that runs in this process already is used as it is, and goes on.

    Args:
        name: its name in Spark's own pages.
        master: `local[*]`, `local-cluster[…]`, `spark://host:port`, `yarn`, …
        conf: Spark's settings. Credentials do not belong here: whoever sees the session sees them.

    Raises:
        AirflowOptionalProviderFeatureException: Spark, or Pravega's data source for it, is not installed.
    """
    if find_spec("pyspark") is None or find_spec("pyspark_pravega") is None:
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
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
