"""DataFrames of assets as events, and the Spark session that makes them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aiopravega.jobs.spark_session import LOCAL, lasting_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME: Final = "dagster-pravega"
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
    return lasting_session(_NAME, master, conf or {}, package=_NAME)


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
