"""What sensors can wait for, one task each, and what they do when they give up."""

from datetime import timedelta
from functools import partial

from airflow.sdk import DAG

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

SCOPE = "system-conditions"

with DAG("conditions", schedule=None):
    # Airflow fails a try that continues before its scheduler knows that the process which deferred it has ended.
    sensor = partial(PravegaStreamCutSensor, deferrable=True, poll_interval=1.0, retries=3, retry_delay=1)
    of_rides = partial(sensor, stream=f"{SCOPE}/rides")
    of_rides(task_id="bounded", max_events=2)
    of_rides(task_id="events", min_events=3)
    of_rides(task_id="reach", reach="{{ dag_run.conf['reach'] }}")
    of_rides(task_id="any", min_bytes=1_000_000, min_events=3, combine="any")
    sensor(task_id="watermark", stream=f"{SCOPE}/timed", watermark="1970-01-01T00:00:02Z")
    given_up = partial(sensor, stream=f"{SCOPE}/rest", min_events=9, give_up_after=timedelta(seconds=30))
    for on_give_up in ("proceed", "skip", "fail"):
        given_up(task_id=on_give_up, on_give_up=on_give_up)
