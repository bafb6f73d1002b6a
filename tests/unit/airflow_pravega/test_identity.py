from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from airflow.sdk import Context

from airflow_pravega.identity import consumer_name, interval_name, write_name


def context(map_index: int | None = -1, try_number: int = 1, **run: Any) -> Context:
    ti = SimpleNamespace(dag_id="dag", task_id="group.task", map_index=map_index, try_number=try_number)
    known = {"partition_key": None, "logical_date": datetime(2026, 1, 2, tzinfo=UTC), "run_id": "run 1"} | run
    return cast("Context", {"ti": ti, "dag_run": SimpleNamespace(**known)})


def test_a_write_is_named_after_the_task_and_the_logical_date():
    assert write_name(context()) == "airflow/dag/group.task/2026-01-02T00:00:00+00:00"


def test_every_try_has_the_same_name():
    assert write_name(context(try_number=1)) == write_name(context(try_number=2))


def test_mapped_tasks_have_names_of_their_own():
    assert consumer_name(context(map_index=0)) == "dag/group.task/0"
    assert consumer_name(context(map_index=None)) == "dag/group.task"


def test_a_partition_goes_before_the_date_and_a_run_without_both_has_its_id():
    assert interval_name(context(partition_key="2026-01")) == "partition 2026-01"
    assert interval_name(context(logical_date=None)) == "run 1"
