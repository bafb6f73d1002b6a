"""The life of a stream, from its first day to its last: what platform teams do with streams, as tasks.

`orders_upkeep` may run as often as one likes: each of its tasks brings the stream of orders into a state, and does
nothing where the stream is in it already. Its last tasks write a few orders, exactly once per run, and read them back;
then the subscriber `upkeep` reports that it needs them no more, so that retention may remove them.

`orders_end` removes what is before the tail, seals the stream and deletes it. A stream that is gone already is fine.

Both reach Pravega by the connection `pravega_default`.
"""

from datetime import timedelta

from airflow.sdk import DAG, Param

from aiopravega import RetentionPolicy, ScalingPolicy
from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.operators.stream import (
    PravegaCreateStreamOperator,
    PravegaDeleteStreamOperator,
    PravegaScaleStreamOperator,
    PravegaSealStreamOperator,
    PravegaTruncateStreamOperator,
)
from airflow_pravega.operators.stream_tags import PravegaTagStreamOperator
from airflow_pravega.operators.subscriber import PravegaSubscriberCutOperator, PravegaUnsubscribeOperator

ORDERS = Param("examples/orders", type="string", description="stream of orders")
STREAM = "{{ params.orders }}"
SUBSCRIBER = "upkeep"

with DAG(
    "orders_upkeep",
    schedule=None,
    doc_md=__doc__,
    params={"orders": ORDERS, "segments": Param(2, type="integer", minimum=1, description="how many segments")},
) as orders_upkeep:
    create = PravegaCreateStreamOperator(
        task_id="create",
        stream=STREAM,
        # Not a fixed number of segments: each update of the stream by another program would return to that number.
        scaling=ScalingPolicy.by_event_rate(target=1000, factor=2, min_segments=1),
        retention=RetentionPolicy.time(timedelta(days=30), timedelta(days=365)),
        if_exists="update",
    )
    tag = PravegaTagStreamOperator(task_id="tag", stream=STREAM, add=["sales"], remove=["draft"])
    scale = PravegaScaleStreamOperator(task_id="scale", stream=STREAM, segments="{{ params.segments }}")
    write = PravegaWriteEventsOperator(
        task_id="write",
        stream=STREAM,
        events=[{"order": 1, "run": "{{ run_id }}"}, {"order": 2, "run": "{{ run_id }}"}],
        routing_keys="{{ run_id }}",
    )
    written = write.output["cuts"]  # type: ignore[index]  # plain outputs are
    read = PravegaReadEventsOperator(task_id="read", stream=STREAM, stream_cuts=written, form="json")
    report = PravegaSubscriberCutOperator(
        task_id="report", stream=STREAM, subscriber=SUBSCRIBER, cut=written, if_behind="ignore"
    )
    create >> tag >> scale >> write >> read >> report


with DAG(
    "orders_end",
    schedule=None,
    doc_md=__doc__,
    params={"orders": ORDERS},
    default_args={"if_not_exists": "ignore"},
) as orders_end:
    (
        PravegaUnsubscribeOperator(task_id="unsubscribe", stream=STREAM, subscriber=SUBSCRIBER)
        >> PravegaTruncateStreamOperator(task_id="truncate", stream=STREAM, cut="latest")
        >> PravegaSealStreamOperator(task_id="seal", stream=STREAM)
        >> PravegaDeleteStreamOperator(task_id="delete", stream=STREAM)
    )
