import json
from pkgutil import resolve_name

import pytest
from airflow.sdk import DAG, task

from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.triggers.spark_operation import PravegaSparkOperationTrigger


def empty(_):
    return None


def test_the_operation_trigger_is_rebuilt_from_its_serialized_form():
    names = {"url": "sc://spark", "user": "ada", "session": "1", "operation": "2"}
    trigger = PravegaSparkOperationTrigger(
        operation=names, observations=["a"], poll_interval=2.5, carried={"a": 1}, give_up_at="2026-01-01"
    )
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()
    assert trigger.work == "operation 2 of session 1 on sc://spark"


def test_operators_of_several_steps_are_not_deferrable():
    with DAG("dag", default_args={"deferrable": True}):
        PravegaLandOperator(task_id="land", stream="a/b", stream_cuts={}, table="delta:/t")  # as without it
        read = PravegaSparkReadOperator(task_id="read", stream="a/b", stream_cuts={}, output_path="/files")
    assert read.deferrable
    with pytest.raises(TypeError, match="deferrable"):
        PravegaLandOperator(task_id="land", stream="a/b", stream_cuts={}, table="delta:/t", deferrable=True)


def test_a_function_that_writes_by_itself_does_not_defer():
    with pytest.raises(ConfigurationError, match="Name the stream that it writes by into"):
        task.pravega_spark(stream="a/b", deferrable=True)(empty)({"start": "", "end": ""})
    with DAG("dag", default_args={"deferrable": True}), pytest.raises(ConfigurationError, match="by into"):
        task.pravega_spark(stream="a/b")(empty)({"start": "", "end": ""})
