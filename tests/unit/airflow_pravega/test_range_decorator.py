from typing import Any

import pytest
from airflow.sdk import DAG, task

from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.keep_table import PravegaKeepTableOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from airflow_pravega.tasks.claimants import finishing_tasks

RANGE = {"start": "UNBOUNDED", "end": "UNBOUNDED"}


def count(visits, day=None):
    """Return the number of events."""


def test_a_function_becomes_a_task_with_its_own_arguments():
    with DAG("dag"):
        called: Any = task.pravega_range(count)(RANGE, day="{{ ds }}")
    made = called.operator
    assert made.task_id == "count"
    assert made.operator_name == "@task.pravega_range"
    assert made.doc_md == "Return the number of events."
    assert set(made.template_fields) == {"op_args", "op_kwargs", "pravega_conn_id"}


def test_the_sensor_knows_the_functions_that_finish_its_range():
    with DAG("dag"):
        wait = PravegaStreamCutSensor(task_id="wait", stream="web/visits")
        other = PravegaStreamCutSensor(task_id="other", stream="web/visits")
        task.pravega_range(task_id="by_position")(count)(wait.output)
        task.pravega_range(task_id="by_name")(count)(visits=wait.output)
        task.pravega_range(task_id="mapped")(count).expand(visits=[wait.output, other.output])
        task.pravega_spark(task_id="mapped_spark", stream="web/visits")(count).expand(visits=[wait.output])
        task.pravega_range(task_id="shared")(count).partial(visits=wait.output).expand(day=["monday", "tuesday"])
        task(task_id="plain")(count)(wait.output)
    assert finishing_tasks(wait) == ["by_name", "by_position", "mapped", "mapped_spark"]
    assert finishing_tasks(other) == ["mapped"]


def test_a_task_that_keeps_a_table_finishes_its_own_range():
    with DAG("dag"):
        keep = PravegaKeepTableOperator(task_id="keep", stream="web/visits", table="delta:/lake/visits")
        task.pravega_range(task_id="after")(count)(keep.output)
    assert finishing_tasks(keep) == ["keep"]


async def asynchronous(visits):
    pass


def generator(visits):
    yield visits


def without_range(*, day):
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (asynchronous, "asynchronous would return before the range is processed"),
        (generator, "generator would return before the range is processed"),
        (without_range, "without_range gets the range of a stream as its first argument"),
    ],
)
def test_a_function_that_cannot_process_a_range_stops_the_dag(function, message):
    arguments = {"day": "monday"} if function is without_range else {"visits": RANGE}
    decorated: Any = task.pravega_range(function)
    with DAG("dag"), pytest.raises(ConfigurationError, match=message):
        decorated(**arguments)
