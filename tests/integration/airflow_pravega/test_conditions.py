"""What a sensor can wait for besides bytes, how much it takes at most, and how it gives up."""

import threading
import time
from datetime import timedelta
from functools import partial

import pytest

from aiopravega import PravegaClient, ScalingPolicy, StreamCut, StreamCutRange
from aiopravega.errors import StreamSealedError
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from airflow_pravega.polling import shared_client
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

SOON = 0.1


class Announced(PravegaStreamCutSensor):
    """A sensor that says when it has checked in vain."""

    in_vain = threading.Event()

    def poke(self, context):
        found = super().poke(context)
        self.in_vain.set()
        return found


def until(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def a_trigger_waits() -> bool:
    return any(shared.opening.done() for clients in list(shared_client._shared.values()) for shared in clients.values())


@pytest.mark.parametrize("deferrable", [True, False])
def test_the_end_of_a_stream_is_waited_for(run_task, client, stream, write, read, meanwhile, deferrable):
    write(b"a")
    Announced.in_vain.clear()

    def seal_later() -> None:
        until(a_trigger_waits if deferrable else Announced.in_vain.is_set)
        write(b"b")
        client.seal_stream(stream)

    sensor = partial(
        Announced, stream=str(stream), sealed=True, deferrable=deferrable, poll_interval=SOON, poke_interval=SOON
    )
    with meanwhile(seal_later):
        found = run_task(sensor).result()
    assert read(found) == [b"a", b"b"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_silence_is_waited_for(run_task, stream, write, read, deferrable):
    write(b"a", b"b")
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        quiet_for=timedelta(seconds=0.3),
        deferrable=deferrable,
        poll_interval=SOON,
        poke_interval=SOON,
    )
    assert read(run_task(sensor).result()) == [b"a", b"b"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_range_ends_where_transactions_of_a_database_are_whole(run_task, client, stream, write, read, deferrable):
    source = '"op":"c","source":{"db":"shop","table":"a"}'
    changes = [
        f'{{{source},"transaction":{{"id":"{name}","data_collection_order":{number}}}}}'.encode()
        for name, number in (("1", 1), ("1", 2), ("2", 1))
    ]
    ends = '{"status":"END","id":"1","data_collections":[{"data_collection":"shop.a","event_count":2}]}'
    client.create_stream(f"{stream.scope}/transactions")
    with client.writer(f"{stream.scope}/transactions") as writer:
        writer.write(ends.encode(), "1")
    write(*changes)
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        transactions="transactions",
        deferrable=deferrable,
        poll_interval=SOON,
        poke_interval=SOON,
    )
    assert read(run_task(sensor).result()) == changes[:2]


def test_each_write_restarts_the_quiet_time_and_a_sealed_stream_is_quiet(client, stream, write):
    now = 0.0
    watch = StreamWatch(MoveCondition(min_bytes=1, quiet_for=10), clock=lambda: now)
    start = client.head(stream)

    def check():
        asynchronous: PravegaClient = client.asynchronous
        return client.run(watch.end_if_moved(asynchronous, start, check=True))

    assert check() is None
    now = 20.0
    assert check() is None  # quiet, but nothing is there
    write(b"a")
    assert check() is None
    now = 29.0
    assert check() is None
    write(b"b")
    now = 31.0
    assert check() is None
    now = 41.0
    assert check() == client.tail(stream)
    write(b"c")
    assert check() is None
    client.seal_stream(stream)
    assert check() == client.tail(stream)


@pytest.mark.parametrize(
    "arguments",
    [
        {"quiet_for": timedelta(seconds=-1)},
        {"quiet_for": timedelta(seconds=1), "mode": "reschedule"},
    ],
)
def test_a_silence_that_nobody_can_see_is_refused(run_task, stream, arguments):
    run = run_task(partial(PravegaStreamCutSensor, stream=str(stream), **arguments))
    assert (run.state(), run.tries()) == ("failed", 1)


@pytest.fixture
def end_of(client, stream):
    """The end of a range from the head, if a condition holds."""
    head = client.head(stream)

    def end_of(start: StreamCut = head, **condition) -> StreamCut | None:
        asynchronous: PravegaClient = client.asynchronous
        watch = StreamWatch(MoveCondition.from_json(MoveCondition(**condition).to_json()))
        end: StreamCut | None = client.run(watch.end_if_moved(asynchronous, start, check=True))
        return end

    return end_of


def test_a_cut_is_reached_when_the_tail_is_there(client, stream, write, end_of):
    write(b"a")
    here = client.tail(stream)
    ahead = StreamCut(stream, {segment: offset + 9 for segment, offset in here.positions.items()})
    assert end_of(reach=here) == here
    assert end_of(reach=ahead) is None
    assert end_of(reach=ahead, min_bytes=9, combine=Combine.ANY) == here
    while end_of(reach=ahead) is None:
        write(*(b"%d" % number for number in range(20)))
    assert end_of(reach=ahead) == client.tail(stream)


def test_a_watermark_is_waited_for_without_a_write(client, scope):
    made = client.create_stream(
        f"{scope}/timed", ScalingPolicy.fixed(1), timestamp_aggregation_timeout=timedelta(minutes=5)
    )
    assert made
    asynchronous: PravegaClient = client.asynchronous
    head = client.head(f"{scope}/timed")
    with client.writer(f"{scope}/timed") as writer:
        writer.write(b"a")
    tail = client.tail(f"{scope}/timed")
    marks = client.watermarks(f"{scope}/timed", follow=True)
    client.note_time(f"{scope}/timed", "writer", 1_000)
    next(iter(marks))

    def end(time: int) -> StreamCut | None:
        watch = StreamWatch(MoveCondition(watermark=time))
        found: StreamCut | None = client.run(watch.end_if_moved(asynchronous, head, check=False))
        return found

    assert end(500) == tail  # older than the first mark
    assert end(1_000) == tail
    assert end(2_000) is None
    client.note_time(f"{scope}/timed", "writer", 2_000)
    until(lambda: end(2_000) == tail)


def test_all_or_any_of_the_conditions_hold(client, stream, write, end_of):
    many = {"min_bytes": 1_000_000, "min_events": 3}
    assert end_of(**many, combine=Combine.ANY) is None  # nothing is there
    write(b"a", b"b")
    assert end_of(**many) is None
    assert end_of(**many, combine=Combine.ANY) is None
    assert end_of(**many, sealed=True, combine=Combine.ANY) is None
    write(b"c")
    tail = client.tail(stream)
    assert end_of(**many) is None
    assert end_of(**many, combine=Combine.ANY) == tail
    assert end_of(min_events=4, sealed=True, combine=Combine.ANY) is None
    client.seal_stream(stream)
    assert end_of(min_events=4, sealed=True, combine=Combine.ANY) == tail
    with pytest.raises(StreamSealedError, match="it will never reach 1,000,000 bytes or 4 events"):
        end_of(min_bytes=1_000_000, min_events=4, combine=Combine.ANY)
    with pytest.raises(StreamSealedError):
        end_of(tail, sealed=True, combine=Combine.ANY)  # nothing is left


@pytest.mark.parametrize("sizes", [[1] * 50, [1, 2_000] * 25, [9_000, *[1] * 49]])
def test_a_range_has_at_most_max_events_and_the_next_have_the_rest(client, stream, write, end_of, sizes):
    events = [b"%03d" % number + b"." * size for number, size in enumerate(sizes)]
    write(*events)
    start, found, ranges = client.head(stream), [], []
    while start != client.tail(stream):
        end = end_of(start, max_events=10, min_events=1)
        ranges.append([event.data for event in client.read(StreamCutRange(start, end))])
        found += ranges[-1]
        start = end
    assert sorted(found) == sorted(events)
    assert max(map(len, ranges)) <= 10
    assert min(map(len, ranges)) > 0


def test_a_scaled_stream_is_taken_in_bounded_ranges_too(client, stream, write, end_of):
    write(*(b"%03d" % number for number in range(30)))
    client.scale_stream(stream, 3)
    write(*(b"%03d" % number for number in range(30, 60)))
    start, ranges = client.head(stream), []
    while start != client.tail(stream):
        end = end_of(start, max_events=7, max_bytes=100_000)
        ranges.append([event.data for event in client.read(StreamCutRange(start, end))])
        start = end
    assert sorted(event for each in ranges for event in each) == [b"%03d" % number for number in range(60)]
    assert max(map(len, ranges)) <= 7


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_sensor_proceeds_with_what_is_there(run_task, write, read, stream, deferrable):
    write(b"a", b"b")
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        min_events=3,
        max_events=9,
        give_up_after=timedelta(seconds=1),
        on_give_up="proceed",
        deferrable=deferrable,
        poll_interval=SOON,
        poke_interval=SOON,
    )
    assert read(run_task(sensor).result()) == [b"a", b"b"]


@pytest.mark.parametrize(("on_give_up", "state"), [("fail", "failed"), ("skip", "skipped")])
def test_a_sensor_that_gives_up_fails_or_skips_without_another_try(run_task, stream, capsys, on_give_up, state):
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        give_up_after=timedelta(seconds=1),
        on_give_up=on_give_up,
        deferrable=True,
        poll_interval=SOON,
    )
    run = run_task(sensor)
    assert (run.state(), run.tries()) == (state, 1)
    assert "was given up after 0:00:01: not 1 bytes" in capsys.readouterr().out


def test_what_a_sealed_stream_will_never_have_is_given_up_at_once(run_task, client, write, read, stream):
    write(b"a")
    client.seal_stream(stream)
    sensor = partial(
        PravegaStreamCutSensor, stream=str(stream), min_events=2, give_up_after=timedelta(days=1), on_give_up="proceed"
    )
    assert read(run_task(sensor).result()) == [b"a"]
