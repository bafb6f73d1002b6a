from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pendulum
import pytest
from airflow.sdk import Context

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Claimant, CutRecord, Interval
from aiopravega.names import SegmentId
from airflow_pravega.tasks.identity import (
    chain_name,
    dag_of,
    interval_name,
    own_interval,
    run_order,
    start_of_partition,
    task_name,
    write_name,
)


def context(map_index: int | None = -1, try_number: int = 1, **run: Any) -> Context:
    known = {"partition_key": None, "logical_date": datetime(2026, 1, 2, tzinfo=UTC), "run_id": "run 1"} | run
    ti = SimpleNamespace(
        dag_id="dag", task_id="group.task", map_index=map_index, try_number=try_number, run_id=known["run_id"]
    )
    return cast("Context", {"ti": ti, "dag_run": SimpleNamespace(**known)})


def test_a_write_is_named_after_the_task_and_the_logical_date():
    assert write_name(context()) == "airflow/dag/group.task/2026-01-02T00:00:00+00:00"


def test_every_try_has_the_same_name():
    assert write_name(context(try_number=1)) == write_name(context(try_number=2))


def test_mapped_tasks_have_names_of_their_own():
    assert task_name(context(map_index=0)) == "dag/group.task/0"
    assert task_name(context(map_index=None)) == "dag/group.task"
    assert write_name(context(map_index=0)) == "airflow/dag/group.task/0/2026-01-02T00:00:00+00:00"


def test_a_mapped_task_s_chain_is_named_by_its_stream_not_by_its_place():
    assert chain_name(context(map_index=0), None) == chain_name(context(map_index=1), None) == "dag/group.task"


def test_an_interval_has_the_name_of_partition_or_date_or_run():
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


def test_runs_are_ordered_by_date_or_by_planned_start():
    earlier, later = datetime(2026, 1, 1, 23, tzinfo=UTC), datetime(2026, 1, 2, 1, 0, 0, 5, tzinfo=UTC)
    orders = [
        run_order(context(logical_date=earlier.astimezone(timezone(timedelta(hours=5))), run_id="z")),
        run_order(context(run_id="a")),
        run_order(context(run_id="b")),
        run_order(context(logical_date=None, run_after=later, run_id="0")),
    ]
    assert orders == sorted(set(orders))


DATE = "2026-01-02T00:00:00+00:00"


@pytest.mark.parametrize(
    ("is_shared", "run", "name", "former"),
    [
        (False, {}, DATE, DATE),
        (True, {}, f"{DATE} of dag/group.task", DATE),
        (False, {"partition_key": "eu", "run_after": None}, "partition eu, run run 1", "partition eu"),
        (
            True,
            {"partition_key": "eu", "run_after": None},
            "partition eu, run run 1 of dag/group.task",
            "partition eu",
        ),
    ],
)
def test_an_interval_is_the_run_s_and_in_a_shared_chain_the_task_s(is_shared, run, name, former):
    own = own_interval(context(**run), is_shared=is_shared)
    assert (own.name, own.former) == (name, former)


def recorded(by: str, at: datetime | None = None, claimant: Claimant | None = None) -> CutRecord:
    stream = StreamName("examples", "flights")
    cut = StreamCut(stream, {SegmentId(stream, 0, 0): 0})
    record = CutRecord.new(
        Interval("shared", stream, DATE), StreamCutRange(cut, cut), by=by, number=0, claimant=claimant
    )
    return record if at is None else record.model_copy(update={"recorded_at": at})


def test_a_record_of_an_older_release_stays_with_the_task_that_made_it():
    own = own_interval(context(), is_shared=True)
    assert own.is_own(recorded(f"airflow/dag/group.task/{DATE}"))
    assert own.is_own(recorded(f"airflow/dag/group.task/7/{DATE}"))
    for other in (f"airflow/dag/group.task.b/{DATE}", f"airflow/other/group.task/{DATE}", "ada@laptop"):
        assert not own.is_own(recorded(other))
    assert not own.is_own(
        recorded(f"airflow/dag/group.task/{DATE}", claimant=Claimant(host="airflow", job="dag", run="run 2"))
    )


def test_a_record_of_a_partition_is_of_the_run_that_began_before_it():
    after = datetime(2026, 1, 3, 12, tzinfo=UTC)
    own = own_interval(context(partition_key="eu", run_after=after), is_shared=False)
    author = "airflow/dag/group.task/partition eu"
    assert own.is_own(recorded(author, after + timedelta(minutes=1)))
    assert not own.is_own(recorded(author, after - timedelta(minutes=1)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # As Airflow gives it: a time of pendulum, which plain times cannot be taken from.
        ({"partition_date": pendulum.datetime(2026, 1, 1, 6, tz="Europe/Berlin")}, datetime(2026, 1, 1, 5, tzinfo=UTC)),
        ({"dag_run": SimpleNamespace(partition_key="2026-01-01T05")}, datetime(2026, 1, 1, 5, tzinfo=UTC)),
        ({"dag_run": SimpleNamespace(partition_key="2026-01-01")}, datetime(2026, 1, 1, tzinfo=UTC)),
        ({"dag_run": SimpleNamespace(partition_key="2026-01-01T05:00:00+02:00")}, datetime(2026, 1, 1, 3, tzinfo=UTC)),
    ],
)
def test_a_partition_begins_at_its_date_or_at_the_time_of_its_key(given, expected):
    start = start_of_partition(given)
    assert (start, type(start)) == (expected, datetime)


@pytest.mark.parametrize(("key", "said"), [(None, "has no partition key"), ("eu", "'eu' is not a time")])
def test_a_key_that_is_no_time_is_refused_with_the_way_out(key, said):
    with pytest.raises(ConfigurationError, match=said):
        start_of_partition({"dag_run": SimpleNamespace(partition_key=key, run_id="manual")})
