"""Errors of writes replayed: what can be decoded now is added to the stream, each once, and the rest stays."""

import json
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.letters import clean, environment, events, run, states, streams
from tests.integration.pravega_jobs.write_job import LAX, REPLAY, named

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import WrittenStream, list_errors
from pravega_jobs.replays import replay_errors

__all__ = ["clean", "client", "environment", "events", "scope", "streams"]
GOOD = [b'{"id":%d}' % number for number in range(5)]


def test_mended_letters_are_rows_once_and_the_others_stay(client, streams, events, clean):
    _, target, dead = streams
    clean(consumer="lake", interval="2026-01-05")
    name = list_errors(f"stream:{target}")[0].name
    [done] = replay_errors(f"stream:{target}", LAX, change=named)
    assert (done.interval, done.generation, done.errors, done.left, done.rows) == ("2026-01-05", 1, 3, 2, 1)
    assert "it is not" in str(done.reason) or "cannot be decoded" in str(done.reason)
    assert events(target) == sorted([*GOOD, b'{"id":1}'])
    assert states(target) == [("2026-01-05", 1, "counted", 2), ("2026-01-05", 1, "replayed", 3)]
    assert len(events(dead)) == 5

    # The ledger has which letters were replayed, and which are left.
    [record] = client.written(target, f"replay of {name}")
    assert (record.errors.replays, record.errors.rows, record.retain) == (name, 2, None)
    again = replay_errors(WrittenStream(target, client), LAX, change=named)
    assert [(each.generation, each.errors, each.left, each.rows) for each in again] == [(0, 2, 2, 0)]
    assert events(target) == sorted([*GOOD, b'{"id":1}'])


def test_each_replay_takes_what_the_one_before_it_has_left(client, streams, events, clean):
    _, target, _ = streams
    clean()
    replay_errors(f"stream:{target}", LAX, change=named)
    raw = {"decode": "json", "columns": "id long", "missing_fields": "null"}
    assert replay_errors(f"stream:{target}", raw, interval="other") == []

    def of_texts(rows: pa.Table) -> pa.Table:
        return pa.table({"event": ["mended"] * rows.num_rows})

    with client.writer(streams[0]) as writer:
        writer.write(b'"a text"')
    clean("tuesday", interval="tuesday")
    [_, tuesday] = replay_errors(f"stream:{target}", {"decode": "json", "columns": "other int"}, change=of_texts)
    assert (tuesday.interval, tuesday.errors, tuesday.left, tuesday.rows) == ("tuesday", 4, 3, 1)
    assert sorted(states(target)) == [
        ("monday", 1, "counted", 2),
        ("monday", 1, "replayed", 3),
        ("tuesday", 1, "counted", 3),
        ("tuesday", 1, "replayed", 4),
    ]
    assert events(target).count(b"mended") == 1


def test_letters_of_an_older_generation_are_not_replayed(streams, events, clean):
    _, target, _ = streams
    clean()
    replay_errors(f"stream:{target}", LAX, change=named)
    clean(generation=2)
    assert states(target) == [
        ("monday", 1, "not counted", 2),
        ("monday", 1, "not counted", 3),
        ("monday", 2, "counted", 3),
    ]
    [done] = replay_errors(f"stream:{target}", LAX, change=named)
    assert (done.generation, done.left, done.rows) == (1, 2, 1)
    assert len(events(target)) == 2 * (len(GOOD) + 1)


def test_of_replays_at_once_one_adds_the_rows(streams, events, clean):
    _, target, _ = streams
    clean()

    def replay(number: int) -> str:
        def change(rows: pa.Table) -> pa.Table:
            return pa.table({"id": [100 + number] * rows.num_rows})

        try:
            return str([each.rows for each in replay_errors(f"stream:{target}", LAX, change=change)])
        except LandingError as error:
            assert "another run has replayed the errors of interval 'monday'" in str(error)
            return "late"

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(replay, range(3)))
    assert found.count("[1]") == 1
    assert len(events(target)) == len(GOOD) + 1
    assert states(target)[0] == ("monday", 1, "counted", 2)


def test_a_command_replays_through_a_function(streams, events, clean, tmp_path, monkeypatch):
    _, target, _ = streams
    clean(consumer="lake")
    (tmp_path / "mending_orders.py").write_text(
        "import polars as pl\n\n\ndef named(rows: pl.DataFrame) -> pl.DataFrame:\n"
        "    return rows.select(id=pl.coalesce('id', 'other'), routing_key=pl.lit('one'))\n"
    )
    monkeypatch.chdir(tmp_path)
    words = ["dead", "replay", f"stream:{target}", "-o", "decode=json", "-o", "columns=id long, other int"]
    words += ["--with", "mending_orders:named", "--consumer", "lake"]
    assert run(*words) == (1, "")
    code, text = run(*words, "--yes", "--json")
    [done] = json.loads(text)
    assert (code, done["errors"], done["left"], done["rows"]) == (1, 3, 2, 1)
    assert events(target) == sorted([*GOOD, b'{"id":1}'])
    assert [line.split()[3] for line in run("dead", "list", f"stream:{target}")[1].splitlines()[1:]] == [
        "replayed",
        "counted",
    ]


def test_replays_that_cannot_be_are_refused(streams, events, clean):
    _, target, _ = streams
    clean()
    with pytest.raises(ConfigurationError, match="has no option 'nothing'"):
        replay_errors(f"stream:{target}", LAX, output_options={"nothing": 1})
    with pytest.raises(ConfigurationError, match="a column '_error': leave it out"):
        replay_errors(f"stream:{target}", LAX, change=lambda rows: rows.append_column("_error", [rows["id"]]))
    with pytest.raises(ConfigurationError, match="are for events of a stream"):
        replay_errors("parquet:/nowhere", LAX, output_options={"encode": "auto"})
    assert events(target) == GOOD


@pytest.mark.parametrize("every", [89, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_replay_killed_at_a_request_adds_each_row_once(streams, events, clean, killed_write, every):
    _, target, _ = streams
    for number, step in enumerate(range(1, 1000, every), 1):
        clean(f"write {step}", interval=f"interval {step}")
        is_killed = killed_write(target, step, REPLAY)
        [done] = replay_errors(f"stream:{target}", LAX, change=named, interval=f"interval {step}")
        assert done.left == 2
        assert events(target).count(b'{"id":1}') == 2 * number
        assert [state for name, _, state, _ in states(target) if name == f"interval {step}"] == ["counted", "replayed"]
        if not is_killed:
            break
    assert step > 100
