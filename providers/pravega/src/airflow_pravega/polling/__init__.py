"""Polling of streams for the triggers of a triggerer: one check of a stream serves all triggers that wait for it.

A triggerer may hold thousands of triggers. Triggers that wait for the same value of the same stream, by connections
with the same settings, share one poller (`poller`). `values` has the values that can be polled, `pace` the pauses
between two checks, `turns` the order of triggers that wait for one chain, `outage` the reports about a cluster that is
away, and `shared_client` the clients.
"""

from airflow_pravega.polling.poller import PollAnswer, Subscription, subscribe
from airflow_pravega.polling.values import (
    GroupDescriptionOf,
    PolledValue,
    StateOfTransaction,
    StreamsOf,
    TailOf,
    WatermarkOf,
)

__all__ = [
    "GroupDescriptionOf",
    "PollAnswer",
    "PolledValue",
    "StateOfTransaction",
    "StreamsOf",
    "Subscription",
    "TailOf",
    "WatermarkOf",
    "subscribe",
]
