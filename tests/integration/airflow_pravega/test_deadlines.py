"""Deadlines in a real Airflow: what a run that missed one waits for, and the check of a consumer's lag."""

import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from tests.pages.blocks import blocks_of

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from airflow_pravega.deadlines import say_what_is_missing
from airflow_pravega.operators.lag import PravegaLagCheckOperator

CONSUMER = "orders/wait"
CONTEXT = {
    "dag_run": {"dag_id": "orders", "dag_run_id": "scheduled__1"},
    "deadline": {"id": "1", "deadline_time": "2026-01-02 08:00:00+00:00"},
}


@pytest.fixture
def paged(monkeypatch):
    """The texts that the notifier `pager.page` has got."""
    texts = []

    async def page(*, text, channel):
        texts.append((channel, text))

    module = ModuleType("pager")
    monkeypatch.setattr(module, "page", page, raising=False)
    monkeypatch.setitem(sys.modules, "pager", module)
    return texts


@pytest.fixture
def taken(client, stream, write):
    """An interval of two events that is not done, after which one event comes."""
    write(b"abcd", b"ef")
    interval = Interval(CONSUMER, stream, "2026-01-01T00:00:00+00:00")
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    ledger.record(interval, StreamCutRange(client.head(stream), client.tail(stream)), None, chained=True)
    write(b"gh")
    return interval


async def test_a_missed_deadline_says_what_the_consumer_has_not_done(stream, taken, paged, caplog):
    given: dict[str, Any] = {"notify": "pager.page", "notify_kwargs": {"channel": "#orders"}, "context": CONTEXT}
    found = await say_what_is_missing(stream=str(stream), consumer=CONSUMER, **given)
    # Airflow's triggerer ends if it is not a text.
    assert found.startswith(
        "the run scheduled__1 of orders (to be done by 2026-01-02 08:00:00+00:00) has missed its deadline: "
        f"no writer of {stream} notes times; '{CONSUMER}' is 32 bytes behind; interval '{taken.name}' is open since "
    )
    assert paged == [("#orders", found)]
    assert found in caplog.text


async def test_a_missed_deadline_says_how_far_the_stream_is_complete(client, stream, write):
    client.note_time(stream, "shop", datetime(2026, 1, 1, tzinfo=UTC))
    write(b"a")
    next(iter(client.watermarks(stream, follow=True)))
    found = await say_what_is_missing(stream=str(stream))
    assert found == f"a run has missed its deadline: {stream} is complete until 2026-01-01T00:00:00+00:00"


async def test_people_are_told_of_a_deadline_although_the_cluster_is_away(stream, nobody, paged):
    given: dict[str, Any] = {"notify": "pager.page", "notify_kwargs": {"channel": "#orders"}}
    found = await say_what_is_missing(stream=str(stream), pravega_conn_id=nobody, **given)
    assert "the cluster does not say more: PravegaConnectionError" in found
    assert paged == [("#orders", found)]


@pytest.fixture
def check(run_task, stream):
    return lambda **limits: run_task(partial(PravegaLagCheckOperator, stream=str(stream), consumer=CONSUMER, **limits))


def test_a_lag_within_its_limits_passes_with_its_numbers(check, taken):
    found = check(max_bytes="32", max_events=3, max_time=timedelta(hours=6)).result()
    assert (found["bytes"], found["events"], found["waiting"]) == (32, 3, [taken.name])
    assert 0 < found["seconds"] < 600


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_bytes": 31}, "32 bytes behind, more than 31"),
        ({"max_events": 1}, "at least 2 events behind, more than 1"),
        ({"max_time": timedelta(0)}, "while events wait, which is more than 0:00:00"),
    ],
)
def test_a_lag_that_exceeds_a_limit_fails_the_task_at_once(check, capsys, limits, said):
    ran = check(**limits)
    assert (ran.state(), ran.tries()) == ("failed", 1)
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("taken")
def test_events_that_were_removed_unread_fail_the_check(client, check, stream, capsys):
    client.truncate_stream(client.tail(stream))
    assert check(max_bytes=10**9).state() == "failed"
    assert "32 bytes were removed before the consumer had processed them" in capsys.readouterr().out


def test_a_check_of_lag_without_a_limit_is_refused():
    with pytest.raises(AirflowFailException, match="no limit, so that it would always pass"):
        PravegaLagCheckOperator(task_id="lag", stream="shop/orders", consumer=CONSUMER)


def test_the_page_makes_dags_with_deadlines():
    namespace: dict[str, Any] = {}
    for block in blocks_of("airflow-deadlines"):
        exec(compile(block.code, "airflow-deadlines", "exec"), namespace)
    assert namespace["daily"].deadline
    assert namespace["lag"].task_dict.keys() == {"lag"}
