"""Orders are processed as they come: the stream starts the runs, and not a clock.

The asset of the stream has a watcher, which runs on the triggerer and fires when the stream has moved on. Each event
starts a run of `orders_watched`. The event only wakes: what a run reads is the range from where the consumer is in the
cut ledger to the tail. So it does not matter if Airflow makes one run of several events, or if an event comes twice or
is lost: every order is read once. A run that finds nothing left is skipped. One run at a time is enough, since each
takes all that is there.

It reaches Pravega by the connection `pravega_default`. The stream is `examples/orders`, or what the variable
`ORDERS_STREAM` of the environment names: a watcher knows no parameters of a run.
"""

import os

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_pravega.operators.events import PravegaReadEventsOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

STREAM = os.environ.get("ORDERS_STREAM", "examples/orders")
# Of the watcher, too, so that it does not fire what a run has taken already.
CONSUMER = "orders_watched"

moved = PravegaStreamCutEventTrigger(STREAM, consumer=CONSUMER)
orders = Asset("orders", uri=f"pravega://{STREAM}", watchers=[AssetWatcher(name="moved", trigger=moved)])

with DAG("orders_watched", schedule=[orders], max_active_runs=1, doc_md=__doc__) as orders_watched:
    wait = PravegaStreamCutSensor(
        task_id="wait", stream=STREAM, consumer=CONSUMER, if_empty="skip", deferrable=True, retries=1
    )
    # Takes small ranges; PravegaSparkReadOperator takes large ones.
    PravegaReadEventsOperator(task_id="read", stream=STREAM, stream_cuts=wait.output, form="json", retries=1)
