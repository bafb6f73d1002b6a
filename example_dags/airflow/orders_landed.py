"""Orders in a table, exactly once: each run lands the range that its sensor hands on.

`orders_landed` may be killed, tried again, cleared or run by hand: the table holds each interval once. If the code of
`typed` was wrong, mend it, set `GENERATION` to 2, and clear the runs whose rows are to be replaced.

The table is a folder of Parquet files; `delta:/folder` and `iceberg:catalog/namespace.table` name other ones. For
PostgreSQL name the table (`shop.orders`) and, beside it, the connection: `postgres_conn_id="warehouse"`. Its password
stays there.

It reaches Pravega by the connection `pravega_default`.
"""

from tempfile import gettempdir
from typing import Any

from airflow.sdk import DAG, Param

from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

GENERATION = 1


def typed(events: Any) -> Any:
    """The columns of the table, out of events that are JSON: from one DataFrame to another."""
    from pyspark.sql import functions

    order = functions.from_json(functions.col("event").cast("string"), "order long, run string")
    return events.select(order.alias("order")).select("order.*")


with DAG(
    "orders_landed",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "orders": Param("examples/orders", type="string", description="stream of orders"),
        "table": Param(f"parquet:{gettempdir()}/orders", type="string", description="the table"),
    },
) as orders_landed:
    wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.orders }}", deferrable=True, retries=1)
    PravegaLandOperator(
        task_id="land",
        stream="{{ params.orders }}",
        stream_cuts=wait.output,
        transform=typed,
        table="{{ params.table }}",
        rebuild=GENERATION,
    )
