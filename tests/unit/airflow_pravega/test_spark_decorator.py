from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from aiopravega.errors import ConfigurationError

RANGE = {"start": "UNBOUNDED", "end": "UNBOUNDED"}


def test_a_function_becomes_a_task_with_its_own_arguments():
    with DAG("dag"):

        @task.pravega_spark(stream="examples/orders", options={"decode": "json"}, into="examples/{{ params.into }}")
        def totals(events, day, ti=None):
            """Return the totals of a day."""

        called: Any = totals(RANGE, day="{{ ds }}")
    made = called.operator
    assert made.task_id == "totals"
    assert made.operator_name == "@task.pravega_spark"
    assert made.doc_md == "Return the totals of a day."
    assert made.multiple_outputs
    assert {"op_args", "op_kwargs", "stream", "into", "options"} <= set(made.template_fields)


def test_a_function_can_be_mapped_over_ranges():
    with DAG("dag"):

        @task.pravega_spark(stream="examples/orders")
        def count(events):
            return events.count()

        called: Any = count.expand(events=[RANGE, RANGE])
    assert called.operator.is_mapped


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"transform": len}, ConfigurationError, "takes no transform"),
        ({"into": "examples/a_b"}, AirflowFailException, "a_b"),
    ],
)
def test_what_cannot_work_stops_the_dag(arguments, error, message):
    with DAG("dag"):

        @task.pravega_spark(stream="examples/orders", **arguments)
        def work(events):
            return events

        with pytest.raises(error, match=message):
            work(RANGE)


def test_a_function_that_can_take_no_range_stops_the_dag():
    with DAG("dag"):

        @task.pravega_spark(stream="examples/orders")
        def work(*, day):
            return day

        with pytest.raises(ConfigurationError, match="work gets the range of a stream as its first argument"):
            work(day="monday")
