"""The order of triggers that wait for one chain."""

from contextlib import ExitStack

import pytest

from airflow_pravega.polling.turns import HEAD_START, Turn, turn_in


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def wait(clock):
    """Has a run wait, in the chain `orders` or another one."""
    with ExitStack() as stack:
        yield lambda order, chain="orders": stack.enter_context(turn_in(chain, order, clock))


async def test_the_earliest_run_is_next_whenever_it_came(wait):
    second = wait("2026-01-02")
    assert second.is_next
    first, other = wait("2026-01-01"), wait("2026-01-03", "others")
    assert [turn.is_next for turn in (first, second, other)] == [True, False, True]


async def test_when_the_next_run_has_gone_the_following_run_is_next(wait):
    second = wait("2026-01-02")
    with turn_in("orders", "2026-01-01") as first:
        assert first.is_next
        assert not second.is_next
    assert second.is_next


async def test_one_of_two_runs_with_the_same_order_is_next(wait):
    assert [turn.is_next for turn in (wait("2026-01-01"), wait("2026-01-01"))] == [True, False]


async def test_the_other_runs_wait_until_the_woken_run_has_taken_its_range(wait):
    first, second = wait("2026-01-01"), wait("2026-01-02")
    assert first.may_wake(None)
    assert not second.may_wake(None)
    assert second.may_wake(1)


async def test_a_woken_run_that_takes_no_range_has_its_head_start_only(wait, clock):
    first, second = wait("2026-01-01"), wait("2026-01-02")
    assert first.may_wake(7)
    clock.now = HEAD_START - 1
    assert not second.may_wake(7)
    clock.now = HEAD_START
    assert second.may_wake(7)
    assert not first.may_wake(7)


async def test_a_run_that_waits_again_is_woken_again_at_once(wait):
    def woken(turn: Turn) -> bool:
        return turn.may_wake(7)

    second = wait("2026-01-02")
    with turn_in("orders", "2026-01-01") as first:
        assert woken(first)
    with turn_in("orders", "2026-01-01") as again:
        assert woken(again)
    assert not woken(second)


async def test_a_chain_is_forgotten_when_no_run_waits():
    with turn_in("orders", "2026-01-01") as first:
        assert first.may_wake(7)
    with turn_in("orders", "2026-01-02") as second:
        assert second.may_wake(7)
