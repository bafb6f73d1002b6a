"""Runs that a stream starts."""

from airflow.sdk import DAG, Asset, AssetWatcher
from tests.system.airflow.reading import read

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

RIDES = "system-watched/rides"
CONSUMER = "watched_rides"

moved = PravegaStreamCutEventTrigger(RIDES, consumer=CONSUMER, poll_interval=1.0)
rides = Asset("watched-rides", uri=f"pravega://{RIDES}", watchers=[AssetWatcher(name="moved", trigger=moved)])

with DAG("watched_rides", schedule=[rides], max_active_runs=1):
    wait = PravegaStreamCutSensor(
        task_id="wait",
        stream=RIDES,
        consumer=CONSUMER,
        if_empty="skip",
        deferrable=True,
        poll_interval=1.0,
        retries=3,
        retry_delay=1,
    )
    read(wait.output)
