"""Progress of a download: a bar for people, lines for logs."""

import io

from pravega_emulator.fetch import show_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_after_every_quarter():
    log = io.StringIO()

    with show_progress("Fetching", 100_000_000, log) as advance:
        for _ in range(100):
            advance(1_000_000)

    assert log.getvalue().splitlines() == [f"Fetching: {done} of 100 MB" for done in (0, 25, 50, 75, 100)]


def test_a_terminal_gets_a_bar():
    terminal = Terminal()

    with show_progress("Fetching", 100_000_000, terminal) as advance:
        advance(100_000_000)

    assert "Fetching" in terminal.getvalue()
    assert "100.0/100.0 MB" in terminal.getvalue()


def test_nothing_to_fetch_is_no_division_by_zero():
    with show_progress("Fetching", 0, io.StringIO()) as advance:
        advance(0)
