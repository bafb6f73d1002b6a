"""What the DAGs of these tests have in common: the task that reads the range of a sensor."""

from typing import Any

from airflow.sdk import task

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from airflow_pravega.hooks.pravega import PravegaHook


def read_range(cuts: dict[str, str], pravega_conn_id: str = PravegaHook.default_conn_name) -> list[str]:
    """Read a range, and record that its interval is done; the events."""
    range_ = StreamCutRange.from_json(cuts)
    stream = range_.start.stream
    assert stream is not None
    with PravegaHook(pravega_conn_id).get_client() as client:
        events = [event.data.decode() for event in client.read(range_)]
        client.cut_ledger(stream.scope).finish(Interval(cuts["consumer"], stream, cuts["interval"]), range_)
    return events


@task(retries=3, retry_delay=1)
def read(cuts: Any) -> list[str]:
    """The same as a task."""
    return read_range(cuts)
