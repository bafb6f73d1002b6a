"""The window of bytes under way: small at first, larger while answers come quickly, halved when one takes long."""

from hypothesis import given
from hypothesis import strategies as st

from aiopravega.write.appender import SLOW, SendWindow

LEAST, LARGEST = 1_000, 16_000
QUICK = SLOW / 2
LATE = SLOW * 2


def test_a_window_starts_small_and_grows_while_answers_are_quick() -> None:
    window = SendWindow(LEAST, LARGEST)
    assert window.size == LEAST
    for _ in range(1_000):
        window.answered(0.0, QUICK, 500)
    assert window.size == LARGEST


def grown() -> SendWindow:
    window = SendWindow(LEAST, LARGEST)
    for _ in range(1_000):
        window.answered(0.0, QUICK, 500)
    return window


def test_late_answers_to_requests_in_flight_halve_the_window_once() -> None:
    window = grown()
    window.answered(1.0, 1.0 + LATE, 500)
    assert window.size == LARGEST // 2
    window.answered(1.1, 1.1 + LATE, 500)  # sent before the window was halved
    assert window.size == LARGEST // 2
    window.answered(1.0 + LATE, 1.0 + 2 * LATE, 500)
    assert window.size == LARGEST // 4


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 10 * LARGEST))))
def test_the_send_window_never_leaves_its_bounds(answers: list[tuple[float, int]]) -> None:
    window = SendWindow(LEAST, LARGEST)
    now = 0.0
    for waited, size in answers:
        now += 1.0
        window.answered(now - waited, now, size)
        assert LEAST <= window.size <= LARGEST
