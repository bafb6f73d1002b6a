from collections.abc import Callable, Iterator
from functools import partial
from threading import Event, get_ident

import pytest

from pravega_jobs.frames.reads import in_order


def _numbers(count: int, taken: list[int]) -> Iterator[Callable[[], int]]:
    for number in range(count):
        taken.append(number)
        yield partial(int, number)


def test_results_come_in_the_order_of_the_work() -> None:
    second_ran = Event()

    def first() -> int:
        assert second_ran.wait(60)  # so that it ends after the second one
        return 1

    def second() -> int:
        second_ran.set()
        return 2

    assert list(in_order([first, second], 2)) == [1, 2]
    assert list(in_order(_numbers(1000, []), 3)) == list(range(1000))


def test_work_runs_in_other_threads_than_the_one_that_takes_results() -> None:
    assert get_ident() not in set(in_order([get_ident] * 10, 2))


def test_little_work_is_begun_before_its_results_are_taken() -> None:
    taken: list[int] = []
    results = in_order(_numbers(1000, taken), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    results.close()
    assert len(taken) <= 4


def test_an_error_comes_after_the_results_before_it() -> None:
    def fail() -> int:
        raise ValueError("the third")

    results = in_order([lambda: 1, lambda: 2, fail, lambda: 4], 4)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="the third"):
        next(results)
    assert list(results) == []
