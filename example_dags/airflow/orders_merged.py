"""A table of Delta that is kept like one of a database: each run merges the changes that its sensor hands on.

Debezium Server writes the changes of `public.orders` into a stream. `orders_merged` may be killed, tried again
or cleared: the table holds each interval once. Deleted rows need ranges in their order: hence `max_active_runs=1`.

It reaches Pravega by the connection `pravega_default`.
"""

from tempfile import gettempdir

from airflow.sdk import DAG, Param

from airflow_pravega.operators.cdc import PravegaCdcMergeOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG(
    "orders_merged",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "orders": Param("examples/inv.public.orders", type="string", description="stream of changes"),
        "table": Param(f"delta:{gettempdir()}/orders", type="string", description="the table"),
    },
) as orders_merged:
    wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.orders }}", deferrable=True, retries=1)
    PravegaCdcMergeOperator(
        task_id="merge",
        stream="{{ params.orders }}",
        stream_cuts=wait.output,
        table="{{ params.table }}",
        key=["id"],
        columns="id int, customer int, price decimal(10,2), placed timestamp",
    )
