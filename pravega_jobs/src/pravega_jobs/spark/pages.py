"""Where people see what a Spark session does: on its own pages, and later on those of a history server.

It turns nothing on: `spark_session` says when pages are on.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkPages:
    """Addresses of a session's pages; an empty one says that there are none.

    `live` is that of the session's own pages, which end with it. `kept` is that of what a history server shows of it.
    """

    live: str = ""
    kept: str = ""


def pages_of(spark: "SparkSession") -> SparkPages:
    """The pages of a session that runs. Of Spark Connect none are known: they are the server's.

    A history server has them if the session logs its events (`spark.eventLog.enabled`), and its address is what
    `spark.yarn.historyServer.address` says: Spark has no other setting for it, on YARN or elsewhere.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
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
