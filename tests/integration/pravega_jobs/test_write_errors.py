"""Errors of writes to streams: each is one event of an errors stream, written once, and counts if the write is done."""

import base64
import json

import pytest
from pyarrow.compute import field
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.letters import BAD, JSON, clean, environment, events, run, states, streams
from tests.integration.pravega_jobs.write_job import WRITE_ID, rows_and_errors

from aiopravega import ScalingPolicy, StreamName
from aiopravega.errors import (
    ConfigurationError,
    LandingError,
    StreamNotFoundError,
    TableNotFoundError,
    TooManyErrorsError,
    WriteIdReusedError,
)
from pravega_jobs.frames import range_of, read_arrow, write_arrow
from pravega_jobs.landing import WrittenStream, list_errors, read_errors

__all__ = ["clean", "client", "environment", "events", "scope", "streams"]


def test_errors_are_letters_once_with_all_that_is_known_of_them(client, streams, events, clean):
    orders, target, dead = streams
    written = clean(consumer="orders/clean", interval="2026-01-05")
    assert not clean(consumer="orders/clean", interval="2026-01-05").by_this_try
    assert events(target) == [b'{"id":%d}' % number for number in range(5)]
    letters = [json.loads(each) for each in events(dead)]
    assert sorted(base64.b64decode(each["event"]) for each in letters) == sorted(BAD)
    for each in letters:
        assert client.fetch(each["pointer"]).data == base64.b64decode(each["event"])
        assert each["reason"].startswith("cannot be decoded as Json")
        about = (each["stream"], each["target"], each["_consumer"], each["interval_name"], each["generation"])
        assert about == (str(orders), f"stream:{target}", "orders/clean", "2026-01-05", 1)

    [record] = client.written(target, "monday")
    assert (record.errors, record.retain) == (written.record.errors, None)
    assert (record.errors.sink, record.errors.rows, record.errors.interval) == (f"stream:{dead}", 3, "2026-01-05")
    assert ": cannot be decoded as Json" in record.errors.first
    assert states(target) == [("2026-01-05", 1, "counted", 3)]
    [counted] = list_errors(WrittenStream(target, client))
    assert sorted(row["event"] for batch in read_errors(counted) for row in batch.to_pylist()) == sorted(BAD)


def test_a_write_without_errors_says_so_and_is_forgotten_in_time(client, streams, events):
    orders, target, dead = streams
    rows = read_arrow(range_of(client, orders), **JSON, filter=field("id") >= 3).read_all()
    assert (rows.num_rows, rows["_error"].null_count) == (5, 2)  # a condition loses no error
    good = rows.filter(field("id") >= 3)
    errors = write_arrow(client, good, target, "monday", errors=f"stream:{dead}").record.errors
    assert errors is not None
    assert (errors.rows, errors.name, errors.consumer, errors.interval) == (0, None, str(target), "monday")
    assert client.written(target, "monday")[0].retain is not None
    assert (list_errors(f"stream:{target}"), events(dead)) == ([], [])


def test_other_errors_under_a_write_id_are_refused(client, streams, clean):
    orders, target, _ = streams
    clean()
    with client.writer(orders) as writer:
        writer.write(b"another")
    with pytest.raises(WriteIdReusedError, match="with 3 errors, .*this run has 4, of other events"):
        clean()
    clean(generation=2)
    assert states(target) == [("monday", 1, "not counted", 3), ("monday", 2, "counted", 4)]
    assert [each.errors.rows for each in client.written(target, "monday")] == [3, 4]


@pytest.mark.parametrize("most", [2, "30%"])
def test_more_errors_than_allowed_leave_nothing(streams, events, clean, most):
    _, target, dead = streams
    with pytest.raises(
        TooManyErrorsError, match=r"write 'monday' to .*clean: 3 of (the|8) rows.* are errors.*Nothing was"
    ):
        clean(most_errors=most)
    assert (events(target), events(dead), list_errors(f"stream:{target}", f"stream:{dead}")) == ([], [], [])
    assert clean(most_errors="37.5%").record.errors.rows == 3


def test_a_stream_without_writes_has_no_errors(streams, scope):
    _, target, _ = streams
    assert list_errors(f"stream:{target}") == []
    with pytest.raises(TableNotFoundError, match="another-ledger"):
        list_errors(WrittenStream(target, ledger=f"{scope}/another-ledger"))
    with pytest.raises(StreamNotFoundError):
        list_errors(f"stream:{scope}/none")


def test_errors_that_cannot_go_anywhere_are_refused(client, streams, events, clean):
    orders, target, dead = streams
    for given, error, message in (
        ({"errors": None}, ConfigurationError, "the rows have the column '_error'"),
        ({"errors": None, "most_errors": 1}, ConfigurationError, "most_errors=1 needs errors"),
        ({"errors": "parquet:/somewhere"}, ConfigurationError, "the errors of a write go into a stream: give stream:"),
        ({"errors": f"stream:{target}"}, ConfigurationError, "cannot go into the same stream"),
        ({"errors": f"stream:{orders}"}, ConfigurationError, "is in the errors stream itself"),
        ({"errors": f"stream:{dead}-none"}, StreamNotFoundError, "-none does not exist: make it"),
    ):
        with pytest.raises(error, match=message):
            clean(**given)
    with pytest.raises(ConfigurationError, match="an error in the column '_error', which is missing"):
        write_arrow(client, read_arrow(range_of(client, orders)), target, "raw", errors=f"stream:{dead}")
    assert (events(target), events(dead)) == ([], [])


def test_errors_that_retention_removed_are_missed(client, streams, clean):
    _, target, dead = streams
    clean()
    client.truncate_stream(client.tail(dead))
    assert states(target) == [("monday", 1, "missing", 0)]
    [missing] = list_errors(f"stream:{target}")
    with pytest.raises(LandingError, match="3 errors of it were landed"):
        list(read_errors(missing))
    assert run("dead", "list", f"stream:{target}")[0] == 1


def test_dead_letters_are_listed_and_shown_under_both_names(streams, clean):
    _, target, dead = streams
    clean(interval="2026-01-05", consumer="lake")
    for word in ("dead", "errors"):
        code, text = run(word, "list", f"stream:{target}")
        assert code == 0
        row = ["lake", "2026-01-05", "1", "counted", "3", "3", f"stream:{dead}"]
        assert text.splitlines()[1].split() == row
    code, text = run("dead", "show", f"stream:{target}", "--consumer", "lake", "--json")
    assert code == 0
    shown = [each.get("event", each.get("event_hex")) for each in json.loads(text)]
    assert sorted(shown) == ["ff00", "no json", '{"other": 1}']
    assert json.loads(run("dead", "list", f"stream:{target}", "--json")[1])[0]["write_id"] == "monday"


@pytest.mark.parametrize("every", [31, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_write_killed_at_a_request_has_its_errors_once(client, scope, killed_write, events, every):
    """Until the write is decided no errors count; from then on all do."""
    for step in range(1, 1000, every):
        target, dead = StreamName(scope, f"clean{step}"), StreamName(scope, f"dead{step}")
        for each in (target, dead):
            assert client.create_stream(each, ScalingPolicy.fixed(2))
        if not killed_write(target, step, f"stream:{dead}"):
            break
        write_arrow(client, rows_and_errors(), target, WRITE_ID, errors=f"stream:{dead}")
        assert states(target) == [(WRITE_ID, 1, "counted", 2)]
        assert (len(events(target)), len(events(dead))) == (18, 2)
    assert step > 100
