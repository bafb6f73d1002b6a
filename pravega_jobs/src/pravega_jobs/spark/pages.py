"""Addresses of a Spark session's pages: its own, and later a history server's.

Nothing is turned on here: see `spark_session`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pravega_jobs.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkPages:
    """Addresses of a session's pages; empty, if there are none.

    `live`: the session's own pages, which end with it. `kept`: the pages of a history server about it.
    """

    live: str = ""
    kept: str = ""


def pages_of(spark: "SparkSession") -> SparkPages:
    """The pages of a session that runs. Pages of Spark Connect are the server's, and not known.

    A history server has pages if the session logs its events (`spark.eventLog.enabled`). Its address is in
    `spark.yarn.historyServer.address`: Spark has no other setting of the address, on YARN or without.
    """
    if is_connect(spark):
        return SparkPages()
    context = spark.sparkContext
    conf = context.getConf()
    history = conf.get("spark.yarn.historyServer.address") or ""
    logged = conf.get("spark.eventLog.enabled") == "true"
    kept = ""
    if logged and history and "${" not in history:  # a variable of Hadoop's configuration, which YARN fills in
        server = history if "://" in history else f"http://{history}"
        kept = f"{server.rstrip('/')}/history/{context.applicationId}"
    return SparkPages(context.uiWebUrl or "", kept)
