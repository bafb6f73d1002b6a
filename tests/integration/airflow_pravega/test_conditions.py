"""What a sensor can wait for besides bytes: silence, and the end of a stream."""

import threading
import time
from datetime import timedelta
from functools import partial

import pytest

from aiopravega import PravegaClient
from aiopravega.intervals.moved import MoveCondition, StreamWatch
from airflow_pravega import clients
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
    return any(shared.opening.done() for by_config in list(clients._shared.values()) for shared in by_config.values())


@pytest.mark.parametrize("deferrable", [True, False])
def test_the_end_of_a_stream_is_waited_for(run_task, client, stream, write, read, meanwhile, deferrable):
    write(b"a")
    Announced.in_vain.clear()

    def seal_later() -> None:
        until(a_trigger_waits if deferrable else Announced.in_vain.is_set)
        write(b"b")
        client.seal_stream(stream.scope, stream.stream)

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


def test_silence_begins_again_with_each_write_and_a_sealed_stream_is_quiet(client, stream, write):
    now = 0.0
    watch = StreamWatch(MoveCondition(min_bytes=1, quiet_for=10), clock=lambda: now)
    start = client.head(stream.scope, stream.stream)

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
    assert check() == client.tail(stream.scope, stream.stream)
    write(b"c")
    assert check() is None
    client.seal_stream(stream.scope, stream.stream)
    assert check() == client.tail(stream.scope, stream.stream)


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
