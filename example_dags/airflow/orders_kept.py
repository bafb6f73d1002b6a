"""Orders in a table that follows their stream: each run takes the orders that came since the last one.

One task does all of it: it takes the next range in the cut ledger, lands the orders in a table of Delta, keeps what is
not an order in an errors table, and puts small files together. It may be killed, tried again or cleared: the table has
each range once. A run without new orders is skipped.

It reaches Pravega by the connection `pravega_default`. Spark is not needed.
"""

from tempfile import gettempdir

from airflow.sdk import DAG, Param

from airflow_pravega.operators.keep_table import PravegaKeepTableOperator

with DAG(
    "orders_kept",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "orders": Param("examples/orders", type="string", description="stream of orders"),
        "table": Param(f"delta:{gettempdir()}/orders", type="string", description="the table"),
    },
) as orders_kept:
    PravegaKeepTableOperator(
        task_id="keep",
        stream="{{ params.orders }}",
        table="{{ params.table }}",
        errors="{{ params.table }}_errors",
        columns="order long, run string",
        options={"decode": "json"},
        retries=1,
    )
