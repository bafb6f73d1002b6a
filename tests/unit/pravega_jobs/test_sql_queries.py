"""Queries of `pravega sql` without a stream: what they cannot reach, their time zone, their end by Ctrl-C."""

import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.commands.queries import rows_of


def found(query: str) -> list[dict[str, Any]]:
    """The rows of a query that reads no stream."""
    with rows_of(query, {}, None) as rows:
        found: list[dict[str, Any]] = rows.read_all().to_pylist()
    return found


def test_a_day_begins_at_midnight_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert found("SELECT (TIMESTAMPTZ '2026-01-05 23:30:00+00')::DATE::TEXT AS day") == [{"day": "2026-01-05"}]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("FROM '{file}'", "file system operations are disabled"),
        ("FROM read_text('{file}')", "file system operations are disabled"),
        ("FROM glob('{file}')", "file system operations are disabled"),
        ("FROM a_variable", "a_variable does not exist"),
        ("FROM query('SET threads = 1')", "DuckDB does not run the query"),
        ("SELECT 'x'::INT", "Could not convert string 'x' to INT32"),
        ("SELECT error('late') FROM range(1000000) t(n) WHERE n = 999999", "late"),
    ],
)
def test_a_query_reads_what_it_is_given_and_says_what_fails(query: str, said: str, tmp_path: Path) -> None:
    a_variable = tmp_path / "file.csv"
    a_variable.write_text("id\n1\n")
    with pytest.raises(ConfigurationError, match=said):
        found(query.format(file=a_variable))


def test_an_interrupt_ends_a_query_that_computes() -> None:
    me = threading.get_ident()

    def is_in_duckdb() -> bool:
        frames = sys._current_frames()
        threads = [each.ident for each in threading.enumerate() if each.name.startswith("pravega-sql")]
        return any("duckdb" in frames[each].f_code.co_filename for each in threads if each in frames)

    def interrupt() -> None:
        while not is_in_duckdb():
            pass
        signal.pthread_kill(me, signal.SIGINT)

    # A shell starts what runs behind it with this signal ignored, and so may whatever runs these tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            found("SELECT sum(sin(n)) FROM range(10000000000) t(n)")
    finally:
        other.join()
        signal.signal(signal.SIGINT, before)
