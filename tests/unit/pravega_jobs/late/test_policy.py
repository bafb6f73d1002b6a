"""Policies about late events, and what a search refuses before it asks a server."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from pravega_jobs.late import LateEvents, LateInterval, LatePolicy, OnLate
from pravega_jobs.late.reading import check_options

NOON = datetime(2013, 1, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OF_DAY = LateInterval(
    interval="2013-01-01",
    since=NOON - 1.5 * DAY,
    until=NOON - 0.5 * DAY,
    claim=1,
    is_settled=True,
    events=3,
    new=1,
    first="scope/stream/0.#epoch.0:0-8",
    last="scope/stream/0.#epoch.0:80-8",
    found_at=NOON,
)


def found(*intervals: LateInterval) -> LateEvents:
    return LateEvents(StreamName("scope", "stream"), "ada", None, intervals, searched=9)


@pytest.mark.parametrize(
    ("policy", "now", "is_due"),
    [
        (LatePolicy(OnLate.REPORT), NOON, False),
        (LatePolicy(OnLate.RERUN), NOON, True),
        (LatePolicy(OnLate.COLLECT, after_events=3), NOON, True),
        (LatePolicy(OnLate.COLLECT, after_events=4), NOON + 9 * DAY, False),
        (LatePolicy(OnLate.COLLECT, after=DAY), NOON + DAY, True),
        (LatePolicy(OnLate.COLLECT, after=DAY), NOON + 0.9 * DAY, False),
        (LatePolicy(OnLate.COLLECT, after_events=4, after=DAY), NOON + DAY, True),
    ],
)
def test_intervals_are_due_by_the_policy(policy, now, is_due):
    assert policy.due(found(OF_DAY), now) == ([OF_DAY] if is_due else [])
    assert policy.due(found(replace(OF_DAY, is_settled=False)), now) == []


@pytest.mark.parametrize(
    ("late", "limits", "message"),
    [
        ("ignore", {}, "late is report, collect, rerun, not 'ignore'"),
        ("collect", {}, "late='collect' needs a limit: give late_after_events"),
        ("rerun", {"after": DAY}, "say when collected events are enough, but late is 'rerun'"),
        ("report", {"after_events": 5}, "but late is 'report'"),
        ("collect", {"after_events": 0}, "must be at least 1"),
        ("collect", {"after": -DAY}, "must not be negative"),
    ],
)
def test_policies_that_cannot_be_meant_are_refused(late, limits, message):
    with pytest.raises(ConfigurationError, match=message):
        LatePolicy.of(late, **limits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decode": "json"}, "name their column by the option 'event_time'"),
        ({"decode": "debezium-json", "event_time": "at"}, "decode=debezium-json gives changes of rows"),
        ({"decode": "json", "event_time": "at", "on_error": "null"}, "on_error=null keeps events whose times"),
        ({"event_tme": "at"}, "event_tme"),
    ],
)
def test_options_without_a_time_of_each_event_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        check_options(options)


def test_the_text_names_each_interval_with_counts_and_pointers():
    head = StreamCut.unbounded()
    waiting = replace(OF_DAY, is_settled=False, claim=2)
    searched = replace(found(OF_DAY, waiting, *[OF_DAY] * 10), range=StreamCutRange(head, head), is_whole=False)
    line = "2013-01-01: 3 late events (1 of them new), from scope/stream/0.#epoch.0:0-8 to scope/stream/0.#epoch.0:80-8"

    assert searched.text.splitlines() == [
        "'ada' on scope/stream: 36 late events in 12 of 9 intervals",
        line,
        f"{line}; claim 2 is not done yet",
        *[line] * 8,
        "and 2 intervals more",
        "the search ended at its limit of bytes: search again",
    ]
    assert found().text == "'ada' on scope/stream has no interval of event times yet"
    assert searched.to_json()["intervals"][0]["since"] == "2013-01-01T00:00:00+00:00"
