"""Ranges are split for mapped tasks of a real Airflow: nothing is left out, nothing twice."""

from functools import partial

import pytest

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from airflow_pravega.operators.stream_cut import PravegaFinishRangeOperator, PravegaSplitRangeOperator


@pytest.fixture
def whole(client, stream):
    """The range of some events of the stream."""
    with client.writer(stream) as writer:
        writer.write_many([b"%04d" % number * 20 for number in range(500)], [f"{number % 7}" for number in range(500)])
    return StreamCutRange(client.head(stream), client.tail(stream))


@pytest.mark.parametrize("size", [{"parts": "{{ 2 + 2 }}"}, {"max_bytes": 12_000}])
def test_the_parts_are_the_range(run_task, client, stream, whole, size):
    given = {**whole.to_json(), "consumer": "orders", "interval": "monday"}

    parts = run_task(partial(PravegaSplitRangeOperator, stream=str(stream), stream_cuts=given, **size)).result()

    assert [set(part) for part in parts] == [{"start", "end"}] * 4
    assert (parts[0]["start"], parts[-1]["end"]) == (given["start"], given["end"])
    found = [event.data for part in parts for event in client.read(StreamCutRange.from_json(part))]
    assert sorted(found) == sorted(event.data for event in client.read(whole))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the two"),
        ({"parts": 2, "max_bytes": 2}, "one of the two"),
        ({"parts": 0}, "at least 1"),
        ({"parts": "many"}, "whole number"),
        ({"parts": 2, "stream_cuts": "text"}, "must be a range"),
        ({"parts": 2, "stream_cuts": {"start": "a", "end": "b", "since": "2026-01-01"}}, "of event times"),
    ],
)
def test_what_cannot_be_split_fails_at_the_first_try(run_task, capsys, stream, whole, arguments, message):
    given = {"stream_cuts": whole.to_json(), **arguments}

    run = run_task(partial(PravegaSplitRangeOperator, stream=str(stream), **given))

    assert (run.state(), run.tries()) == ("failed", 1)
    assert message in capsys.readouterr().out


def test_the_interval_is_done_after_all_parts_and_no_part_is(run_task, capsys, client, stream, whole):
    ledger, interval = client.cut_ledger(stream.scope), Interval("orders", stream, "monday")
    ledger.create()
    ledger.claim(interval, whole)
    finish = partial(PravegaFinishRangeOperator, stream=str(stream))

    part = run_task(partial(finish, stream_cuts=whole.to_json()))
    assert (part.state(), part.tries()) == ("failed", 1)
    assert "names no interval" in capsys.readouterr().out
    assert not ledger.find(interval).is_done

    assert run_task(
        partial(finish, stream_cuts={**whole.to_json(), "consumer": "orders", "interval": "monday"})
    ).state()
    assert ledger.find(interval).is_done
