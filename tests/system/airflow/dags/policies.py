"""Runs whose read may fail at its first try, and is not tried again or an hour later, for policies of the next run."""

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task
from tests.system.airflow.reading import read_range

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

AT_ONCE = timedelta(seconds=1)
LATER: dict[str, Any] = {"retries": 1, "retry_delay": timedelta(hours=1)}


@task
def read(cuts: Any) -> list[str]:
    context = get_current_context()
    if context["params"]["fails"] and context["ti"].try_number == 1:
        raise RuntimeError("the first try is meant to fail")
    return read_range(cuts)


def rides(dag_id: str, tries: dict[str, Any], **arguments: Any) -> DAG:
    with DAG(dag_id, schedule=None, params={"fails": Param(False, type="boolean")}) as dag:
        wait = PravegaStreamCutSensor(
            task_id="wait",
            stream="system-policies/rides",
            deferrable=True,
            poll_interval=1.0,
            retries=3,
            retry_delay=1,
            **arguments,
        )
        read.override(**tries)(wait.output)
    return dag


waits = rides("rides_wait", LATER)
gives_up = rides("rides_give_up", LATER, open_timeout=AT_ONCE)
takes_over = rides("rides_take_over", {"retries": 0})
skips = rides("rides_skip", LATER, on_open="skip")
