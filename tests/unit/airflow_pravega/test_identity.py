from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from airflow_pravega.tasks.identity import chain_name, consumer_name, dag_of, interval_name, run_order, write_name


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


def test_a_partition_precedes_the_date_and_a_run_without_both_has_its_id():
    assert interval_name(context(partition_key="2026-01")) == "partition 2026-01"
    assert interval_name(context(logical_date=None)) == "run 1"


def test_a_chain_of_ranges_is_the_task_s_or_has_a_name():
    assert chain_name(context(), None) == "dag/group.task"
    assert chain_name(context(), "shop/orders") == "shop/orders"


@pytest.mark.parametrize(
    ("given", "name"),
    [(None, "prod/dag/group.task"), ("shop/orders", "prod/shop/orders"), ("prod/shop/orders", "prod/shop/orders")],
)
def test_the_deployment_s_name_comes_before_that_of_the_chain_once(monkeypatch, given, name):
    monkeypatch.setenv("AIRFLOW__PRAVEGA__DEPLOYMENT", "prod")
    assert chain_name(context(), given) == name


def test_two_deployments_share_no_chain_but_a_write(monkeypatch):
    monkeypatch.setenv("AIRFLOW__PRAVEGA__DEPLOYMENT", "prod")
    chain, write = chain_name(context(), None), write_name(context())
    monkeypatch.setenv("AIRFLOW__PRAVEGA__DEPLOYMENT", "staging")
    assert chain_name(context(), None) != chain
    assert write_name(context()) == write


@pytest.mark.parametrize("wrong", ["prod/eu", "prod eu", "x" * 101])
def test_a_deployment_s_name_that_could_be_mistaken_is_refused(monkeypatch, wrong):
    monkeypatch.setenv("AIRFLOW__PRAVEGA__DEPLOYMENT", wrong)
    with pytest.raises(ConfigurationError, match="deployment is .*letters, digits"):
        chain_name(context(), None)


@pytest.mark.parametrize("wrong", ["", " ", "None"])
def test_a_template_that_gives_no_consumer_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="consumer is .* which is not a name"):
        chain_name(context(), wrong)


def test_a_record_says_which_dag_has_taken_its_interval():
    assert dag_of("airflow/orders/wait/2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00") == "orders"
    assert dag_of("airflow/orders/wait/3/asset/run 7", "asset/run 7") == "orders"
    assert dag_of("airflow/orders/wait/monday", "tuesday") is None
    assert dag_of("ada@laptop", "monday") is None


def test_runs_are_ordered_by_their_dates_or_by_when_they_were_to_start():
    earlier, later = datetime(2026, 1, 1, 23, tzinfo=UTC), datetime(2026, 1, 2, 1, 0, 0, 5, tzinfo=UTC)
    orders = [
        run_order(context(logical_date=earlier.astimezone(timezone(timedelta(hours=5))), run_id="z")),
        run_order(context(run_id="a")),
        run_order(context(run_id="b")),
        run_order(context(logical_date=None, run_after=later, run_id="0")),
    ]
    assert orders == sorted(set(orders))
