"""DAGs whose runs could take each other's ranges: shared names, lists that grow, tests, timeouts, several readers."""

import os
import signal
import time
from datetime import timedelta
from typing import Any

import airflow.sdk
from airflow.sdk import DAG, Param, get_current_context, setup, task, teardown
from tests.system.airflow.reading import read, read_range

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.events import PravegaReadEventsOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

SCOPE = "system-whose"
AGAIN = StreamName(SCOPE, "again")
SOON: dict[str, Any] = {"poll_interval": 1.0, "poke_interval": 1.0}


class Slow(PravegaReadEventsOperator):
    """A read that takes as many seconds as the run says, and fails if the run says so."""

    def work(self, client: Any, stream: StreamName, context: Any) -> Any:
        conf = context["dag_run"].conf or {}
        time.sleep(conf.get("seconds", 0))
        if self.task_id in conf.get("fails", ()) and context["ti"].try_number == 1:
            raise RuntimeError("the first try is meant to fail")
        return super().work(client, stream, context)


def waiting(stream: str, **arguments: Any) -> PravegaStreamCutSensor:
    return PravegaStreamCutSensor(task_id="wait", stream=f"{SCOPE}/{stream}", **{**SOON, **arguments})


for name in ("whose_one", "whose_two"):
    with DAG(name, schedule=None):
        read(waiting("shared", consumer="whose", deferrable=True).output)

with DAG("whose_mapped", schedule=None, params={"streams": Param([], type="array")}):

    @task
    def streams() -> list[str]:
        return list(get_current_context()["params"]["streams"])

    @task
    def read_all(ranges: Any) -> list[str]:
        return sorted(event for one in ranges for event in read_range(one))

    read_all(PravegaStreamCutSensor.partial(task_id="wait", **SOON).expand(stream=streams()).output)

# Airflow 3.3 gives keys to runs of this schedule only, 3.2 to those of any.
with DAG("whose_partition", schedule=getattr(airflow.sdk, "PartitionedAtRuntime", lambda: None)()):
    read(waiting("partition").output)

with DAG("whose_again", schedule=None):

    @setup
    @task
    def make() -> None:
        with PravegaHook().get_client() as client:
            client.create_stream(AGAIN, ScalingPolicy.fixed(1))
            with client.writer(AGAIN) as writer:
                writer.write(b"again")

    @teardown
    @task
    def drop() -> None:
        with PravegaHook().get_client() as client:
            client.delete_stream(AGAIN)

    begin, end = make(), drop()
    again = waiting("again", on_truncated="skip")
    begin >> again
    read(again.output) >> end
    begin >> end

with DAG("whose_slow", schedule=None):
    slow = waiting("slow", deferrable=True, retries=1, retry_delay=1)
    Slow(task_id="read", stream=f"{SCOPE}/slow", stream_cuts=slow.output)

with DAG("whose_timed", schedule=None):
    timed = waiting("timed")
    Slow(task_id="read", stream=f"{SCOPE}/timed", stream_cuts=timed.output, execution_timeout=timedelta(seconds=10))

with DAG("whose_timeout", schedule=None):
    waiting("empty", deferrable=True, execution_timeout=timedelta(seconds=20))

with DAG("whose_readers", schedule=None):
    both = waiting("readers")
    for name in ("left", "right"):
        Slow(task_id=name, stream=f"{SCOPE}/readers", stream_cuts=both.output)

with DAG("whose_plain", schedule=None):

    @task
    def plain(cuts: Any) -> list[str]:
        """Read a range, and never finish it."""
        with PravegaHook().get_client() as client:
            return [event.data.decode() for event in client.read(StreamCutRange.from_json(cuts))]

    plain(waiting("plain", deferrable=True).output)

with DAG("whose_killed", schedule=None):

    @task.pravega_range(retries=1, retry_delay=0)
    def killed(events: Any, ti: Any = None) -> dict[str, Any]:
        """Be killed after the work of the first try, before its end is recorded."""
        found = sorted(event.data.decode() for event in events.events())
        if ti.try_number == 1 and found == ["first"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"events": found, "try": ti.try_number}

    killed(waiting("killed", deferrable=True).output)
