"""A table that is kept like one of a database: each run merges the changes that came since the last one.

Debezium Server writes the changes of `public.orders` into a stream. `lake/orders` is a table of Delta. It may be
killed, tried or executed again: the table holds each run's range once, and no row goes back in time.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/orders_merged.py

`CHANGES_STREAM` names another stream, `CHANGES_TABLE` another table, such as `iceberg:catalog/shop.orders`.
"""

import os
from datetime import timedelta
from tempfile import gettempdir

import dagster as dg

from dagster_pravega import (
    PravegaResource,
    PravegaSparkIOManager,
    build_cdc_asset,
    build_stream_lag_check,
    pravega_stream_spec,
)

STREAM = os.environ.get("CHANGES_STREAM", "examples/inv.public.orders")
changes = pravega_stream_spec(STREAM, description="Changes of public.orders, by Debezium")

orders = build_cdc_asset(
    changes,
    key=["lake", "orders"],
    table=os.environ.get("CHANGES_TABLE", f"delta:{gettempdir()}/orders_merged"),
    key_of_rows=["id"],
    columns="id int, customer int, price decimal(10,2), placed timestamp",
    since="last",
    group_name="lake",
    retry_policy=dg.RetryPolicy(max_retries=2, delay=10),
)
lag = build_stream_lag_check(orders, stream=STREAM, consumer="dagster/lake/orders", warn_after=timedelta(hours=1))

pravega = PravegaResource()
defs = dg.Definitions(
    assets=[changes, orders],
    asset_checks=[lag],
    resources={"pravega": pravega, "pravega_spark": PravegaSparkIOManager(pravega=pravega)},
)
