"""Streams that tasks of a real Airflow change: each change once, and what is not there is refused or ignored."""

from collections.abc import Callable
from functools import partial

import pytest

from aiopravega import RetentionPolicy, ScalingPolicy, SegmentId, StreamCut, StreamCutRange
from airflow_pravega.operators.stream import (
    PravegaCreateStreamOperator,
    PravegaDeleteStreamOperator,
    PravegaScaleStreamOperator,
    PravegaSealStreamOperator,
    PravegaTruncateStreamOperator,
    PravegaUpdateStreamOperator,
)
from airflow_pravega.operators.stream_operator import PravegaStreamChangeOperator
from airflow_pravega.operators.stream_tags import PravegaTagStreamOperator
from airflow_pravega.operators.subscriber import PravegaSubscriberCutOperator, PravegaUnsubscribeOperator

CHANGES: dict[str, Callable[..., PravegaStreamChangeOperator]] = {
    "update": partial(PravegaUpdateStreamOperator, tags=["sales"]),
    "scale": partial(PravegaScaleStreamOperator, segments=3),
    "truncate": partial(PravegaTruncateStreamOperator, cut="latest"),
    "seal": PravegaSealStreamOperator,
    "delete": PravegaDeleteStreamOperator,
    "tag": partial(PravegaTagStreamOperator, add=["sales"]),
    "subscriber": partial(PravegaSubscriberCutOperator, subscriber="etl", cut="latest"),
    "unsubscribe": partial(PravegaUnsubscribeOperator, subscriber="etl"),
}


@pytest.fixture
def configuration(client, stream):
    """The configuration that the stream has now."""
    return lambda: client.run(client.controller.stream_configuration(stream))


@pytest.fixture
def fails_for_good(run_task):
    """Runs a task that is to fail at its first try."""

    def fails_for_good(make):
        run = run_task(make)
        assert (run.state(), run.tries()) == ("failed", 1)

    return fails_for_good


def test_a_stream_that_is_there_is_kept_updated_or_refused(run_task, fails_for_good, stream, configuration):
    create = partial(PravegaCreateStreamOperator, stream=str(stream), retention=RetentionPolicy.bytes(10**9))
    before = configuration()
    assert run_task(create).result() is False
    assert configuration() == before
    fails_for_good(partial(create, if_exists="fail"))
    assert run_task(partial(create, if_exists="update")).result() is False
    assert configuration().retention == RetentionPolicy.bytes(10**9)
    assert configuration().scaling == before.scaling


def test_a_stream_is_updated_once_and_what_is_not_given_stays(run_task, stream, configuration):
    update = partial(
        PravegaUpdateStreamOperator, stream=str(stream), scaling=ScalingPolicy.fixed(3), tags=["{{ 'sales' }}", "eu"]
    )
    assert run_task(update).result() is True
    assert run_task(update).result() is False
    keep = partial(PravegaUpdateStreamOperator, stream=str(stream), retention=RetentionPolicy.bytes(10**9))
    assert run_task(keep).result() is True
    found = configuration()
    assert (found.scaling, found.tags) == (ScalingPolicy.fixed(3), ("eu", "sales"))
    assert found.retention == RetentionPolicy.bytes(10**9)


def test_tags_are_added_and_removed_once(run_task, stream, configuration):
    assert run_task(partial(PravegaTagStreamOperator, stream=str(stream), add=["sales", "eu"])).result() is True
    change = partial(PravegaTagStreamOperator, stream=str(stream), add=["{{ 'us' }}"], remove=["eu", "asia"])
    assert run_task(change).result() is True
    assert run_task(change).result() is False
    assert configuration().tags == ("sales", "us")


def test_the_mark_of_a_ledger_survives_changes_of_tags(run_task, client, stream, configuration, fails_for_good):
    ledger = client.commit_ledger(stream.scope)
    ledger.create()
    ledger.mark(stream)
    [mark] = configuration().tags

    update = partial(PravegaUpdateStreamOperator, stream=str(stream), tags=["eu"])
    assert run_task(update).result() is True
    assert configuration().tags == (mark, "eu")
    assert run_task(update).result() is False
    make = partial(PravegaCreateStreamOperator, stream=str(stream), tags=["us"], if_exists="update")
    assert run_task(make).result() is False
    assert configuration().tags == (mark, "us")
    fails_for_good(partial(PravegaTagStreamOperator, stream=str(stream), remove=[mark]))


@pytest.mark.parametrize("tags", [{}, {"add": ["eu"], "remove": ["eu"]}])
def test_tags_that_say_nothing_or_both_are_refused(fails_for_good, stream, tags):
    fails_for_good(partial(PravegaTagStreamOperator, stream=str(stream), **tags))


def test_a_stream_is_scaled_once(run_task, client, stream):
    scale = partial(PravegaScaleStreamOperator, stream=str(stream), segments="{{ 1 + 2 }}")
    assert run_task(scale).result() is True
    after = client.tail(stream)
    assert len(after.positions) == 3
    assert run_task(scale).result() is False
    assert client.tail(stream) == after


@pytest.mark.parametrize("segments", [0, "many"])
def test_a_number_of_segments_that_cannot_be_is_refused(fails_for_good, stream, segments):
    fails_for_good(partial(PravegaScaleStreamOperator, stream=str(stream), segments=segments))


def test_a_stream_is_truncated_once_and_never_backwards(run_task, client, stream, write):
    write(b"a", b"b")
    first = client.tail(stream)
    write(b"c")
    second = client.tail(stream)
    write(b"d")
    truncate = partial(PravegaTruncateStreamOperator, stream=str(stream))
    whole = {"start": "UNBOUNDED", "end": second.to_text()}
    assert run_task(partial(truncate, cut=whole)).result() is True
    assert run_task(partial(truncate, cut=whole)).result() is False
    assert run_task(partial(truncate, cut=first.to_text())).result() is False
    left = StreamCutRange(client.head(stream), client.tail(stream))
    assert [event.data for event in client.read(left)] == [b"d"]


@pytest.mark.parametrize("moved", [-4, 1000], ids=["inside an event", "beyond the tail"])
def test_a_stream_is_not_truncated_at_a_cut_that_would_harm_it(fails_for_good, client, stream, moved):
    with client.writer(stream) as writer:
        for number in range(20):
            writer.write(b"event", routing_key=str(number))
    tail = client.tail(stream)
    assert all(tail.positions.values())
    wrong = StreamCut(stream, {segment: offset + moved for segment, offset in tail.positions.items()})
    head = client.head(stream)
    fails_for_good(partial(PravegaTruncateStreamOperator, stream=str(stream), cut=wrong.to_text()))
    assert client.head(stream) == head


def test_a_cut_of_a_stream_that_was_made_again_truncates_nothing(fails_for_good, client, stream, write):
    write(b"a")
    old = client.tail(stream)
    client.delete_stream(stream)
    client.create_stream(stream, ScalingPolicy.fixed(2))
    fails_for_good(partial(PravegaTruncateStreamOperator, stream=str(stream), cut=old.to_text()))


def test_a_stream_is_sealed_once(run_task, fails_for_good, client, stream):
    seal = partial(PravegaSealStreamOperator, stream=str(stream))
    assert run_task(seal).result() is True
    assert run_task(seal).result() is False
    assert client.is_sealed(stream)
    for change in ("scale", "update"):
        fails_for_good(partial(CHANGES[change], stream=str(stream)))


@pytest.mark.parametrize("make", CHANGES.values(), ids=CHANGES)
def test_a_stream_that_is_not_there_is_refused_or_ignored(run_task, fails_for_good, scope, make):
    fails_for_good(partial(make, stream=f"{scope}/missing", if_not_exists="{{ 'fail' }}"))
    assert run_task(partial(make, stream=f"{scope}/missing", if_not_exists="ignore")).result() is False


def test_a_subscriber_moves_forward_and_is_gone_once(run_task, fails_for_good, client, stream, write):
    report = partial(PravegaSubscriberCutOperator, stream=str(stream), subscriber="etl")
    write(b"a", b"b")
    first = client.tail(stream)
    write(b"c", b"d", b"e", b"f")
    assert run_task(partial(report, cut={"start": "UNBOUNDED", "end": first.to_text()})).result() is True
    assert run_task(partial(report, cut="latest")).result() is True
    assert client.subscribers(stream) == ["etl"]
    fails_for_good(partial(report, cut=first.to_text()))
    assert run_task(partial(report, cut=first.to_text(), if_behind="ignore")).result() is False
    nowhere = StreamCut(stream, {SegmentId(stream, 7, 0): 0})
    fails_for_good(partial(report, cut=nowhere.to_text(), if_behind="ignore"))
    unsubscribe = partial(PravegaUnsubscribeOperator, stream=str(stream), subscriber="etl")
    assert run_task(unsubscribe).result() is True
    assert run_task(unsubscribe).result() is False
