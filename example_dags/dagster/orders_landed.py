"""Orders in a table, exactly once: each run lands the orders that came since the last one.

`lake/orders` is a folder of Parquet files. It may be killed, tried or executed again: the table holds each run's range
once. If the code of `typed` was wrong, mend it, execute the runs again with the tag `pravega/rebuild: 2`, and their
rows replace those of before.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/orders_landed.py

`ORDERS_STREAM` names another stream, `ORDERS_TABLE` another table, such as `delta:/folder`.
"""

import os
from tempfile import gettempdir

import dagster as dg
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from dagster_pravega import PravegaResource, PravegaSparkIOManager, build_landed_asset, pravega_stream_spec

orders_stream = pravega_stream_spec(os.environ.get("ORDERS_STREAM", "examples/orders"), description="Orders, as JSON")


def typed(events: DataFrame) -> DataFrame:
    """The columns of the table, out of events that are JSON."""
    order = sql.from_json(sql.col("event").cast("string"), "order long, run string").alias("order")
    return events.select(order).select("order.*")


orders = build_landed_asset(
    orders_stream,
    key=["lake", "orders"],
    table=os.environ.get("ORDERS_TABLE", f"parquet:{gettempdir()}/orders"),
    transform=typed,
    since="last",
    group_name="lake",
    retry_policy=dg.RetryPolicy(max_retries=2, delay=10),
)

defs = dg.Definitions(
    assets=[orders_stream, orders], resources={"pravega_spark": PravegaSparkIOManager(pravega=PravegaResource())}
)
