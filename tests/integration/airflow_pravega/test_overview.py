"""The consumers of a scope at a glance: their order, the work for one page, and what cannot be asked."""

import pytest
from benchmarks.page import fill

from aiopravega import StreamName
from aiopravega.ledger import CUT_TABLE, Interval, IntervalState
from airflow_pravega.page.overview import Limits, Wanted, overview_of

CONSUMERS, INTERVALS = 12, 30


@pytest.fixture
def many(client, scope):
    """A scope with twelve consumers of three streams, of thirty intervals each."""
    client.run(fill(client.asynchronous, scope, CONSUMERS, INTERVALS, 3))
    return scope


@pytest.fixture
def show(client, many):
    def show(*wanted, **limits):
        return client.run(overview_of(client.asynchronous, many, Wanted(*wanted), limits=Limits(**limits)))

    return show


def test_the_worst_consumers_come_first_and_each_is_on_one_page(show):
    pages = [show("", "worst", number, page=5) for number in (1, 2, 3)]

    shown = [consumer for page in pages for consumer in page.consumers]
    assert sorted(consumer.name for consumer in shown) == [f"totals_{number:03}/wait" for number in range(CONSUMERS)]
    assert [len(page.consumers) for page in pages] == [5, 5, 2]
    assert [(page.found, page.intervals, page.pages) for page in pages] == [(12, 360, 3)] * 3
    failed = [consumer.states.get(IntervalState.FAILED, 0) for consumer in shown]
    assert failed == [1] * 3 + [0] * 9
    for some in (shown[:3], shown[3:]):
        behind = [consumer.behind for consumer in some]
        assert behind == sorted(behind, reverse=True)
    assert all(len(consumer.records) == INTERVALS for consumer in shown)


def test_other_orders_and_a_part_of_a_name(show):
    assert [consumer.name for consumer in show("TOTALS_00", "name").consumers] == [
        f"totals_{number:03}/wait" for number in (0, 3, 6, 9, 1, 4, 7, 2, 5, 8)
    ]
    assert {consumer.stream.stream for consumer in show("readings-02").consumers} == {"readings-02"}
    behind = [consumer.behind for consumer in show("", "behind").consumers]
    assert behind == sorted(behind, reverse=True)
    assert show("nobody").consumers == []


def test_the_work_is_bounded_by_the_page_not_by_the_intervals(show, many, client, requests):
    limits = {"page": 2, "to_order": 24, "shown": 10}
    show(**limits)  # the client knows the servers of the segments now
    requests.begin()
    few = show(**limits)
    before = requests.count
    assert [len(consumer.records) for consumer in few.consumers] == [10, 10]
    assert [consumer.unread for consumer in few.consumers] == [INTERVALS - 10] * 2

    client.run(fill(client.asynchronous, f"{many}-longer", CONSUMERS, 10 * INTERVALS, 3))
    ask = lambda: client.run(  # noqa: E731 - the same question twice
        overview_of(client.asynchronous, f"{many}-longer", Wanted(), limits=Limits(**limits))
    )
    ask()
    requests.begin()
    long = ask()
    assert [len(consumer.records) for consumer in long.consumers] == [10, 10]
    assert requests.count - before <= 8  # pages of keys: ten times as many


def test_a_stream_without_an_answer_is_a_line_of_each_of_its_consumers(show):
    shown = show(patience=0.0).consumers

    assert len(shown) == CONSUMERS
    assert {consumer.behind for consumer in shown} == {None}
    assert all("no answer about the stream within 0 s" in (consumer.unknown or "") for consumer in shown)


def test_a_record_that_cannot_be_read_is_a_line_of_its_consumer(show, many, client):
    interval = Interval("totals_005/wait", StreamName(many, "readings-02"), "of another release")
    client.table(many, CUT_TABLE).put(interval.key, b'{"version": 99}')
    client.table(many, CUT_TABLE).put(Interval("nobody", StreamName(many, "gone"), "x").key, b"{}")

    shown = show()
    first, *others = shown.consumers
    assert first.name == "totals_005/wait"
    assert "a record of version 99" in (first.unknown or "")
    assert all(consumer.unknown is None for consumer in others)
    assert len(shown.unreadable) == 1
