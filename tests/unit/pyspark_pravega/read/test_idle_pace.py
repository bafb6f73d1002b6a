"""Questions about new events become rare while there are none, and wait for nobody else."""

import pytest

from pyspark_pravega.read.stream import IdlePace

SPARK_WAITS = 0.01


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def pace(time: Time) -> IdlePace:
    return IdlePace(time.clock, time.sleep)


def ask(pace: IdlePace, time: Time, *, anything: bool = False, after: float = SPARK_WAITS) -> float:
    """Ask once, some time after the last answer; returns for how long the answer waited."""
    time.now += after
    before = time.now
    pace.wait()
    pace.answered(anything=anything)
    return time.now - before


def test_a_stream_without_events_is_asked_once_a_second(pace, time):
    end = time.now + 60
    while time.now < end:
        ask(pace, time)
    waits = [ask(pace, time) for _ in range(5)]
    assert waits == pytest.approx([1.0] * 5)


def test_an_hour_without_events_takes_few_questions(pace, time):
    end, questions = time.now + 3600, 0
    while time.now < end:
        ask(pace, time)
        questions += 1
    assert questions < 3700


def test_events_are_found_after_a_tenth_of_the_silence_at_most(pace, time):
    began = time.now
    for _ in range(200):
        silence = time.now - began
        assert ask(pace, time) <= 0.1 * silence + SPARK_WAITS


def test_after_events_the_next_question_does_not_wait(pace, time):
    while ask(pace, time) < 1:
        pass
    ask(pace, time, anything=True)
    assert ask(pace, time) == 0
    assert ask(pace, time) <= 0.1 * SPARK_WAITS + 1e-9


@pytest.mark.parametrize("after", [0.1, 10.0], ids=["another source is busy", "a trigger every ten seconds"])
def test_a_query_that_does_not_ask_at_once_never_waits(pace, time, after):
    for _ in range(1000):
        assert ask(pace, time, after=after) == 0
