"""Errors of landings in errors streams: each is one event, written once, and counts if its rows are landed."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
import pytest
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.errors_job import KINDS, errors_that_count, land_with_errors, replay
from tests.integration.pravega_jobs.landing_job import CONSUMER, landing, rows

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import LandingError, StreamNotFoundError
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import Action, ErrorsStream, list_errors, read_errors
from pravega_jobs.landing.errors import errors_rows
from pravega_jobs.landing.rules import HeldErrors, Landed

__all__ = ["client", "scope"]
SEVEN, EIGHT, BAD = b'{"id": 7}', b'{"id": 8}', b"no json"
FEW = pytest.mark.parametrize("kind", ["parquet"], indirect=True)


@pytest.fixture(autouse=True)
def _environment(monkeypatch, pravega_config):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)


@pytest.fixture
def make_stream(client, scope):
    def make(name: str = "errors") -> str:
        assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(2))
        return f"stream:{scope}/{name}"

    return make


@pytest.fixture
def stream(make_stream) -> str:
    made: str = make_stream()
    return made


@pytest.fixture
def letters(client):
    """All events of an errors stream, as anybody reads them."""

    def letters(stream: str) -> list[bytes]:
        everything = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
        return [event.data for event in client.read(everything, StreamName.parse(stream.removeprefix("stream:")))]

    return letters


def states(lake) -> list[tuple[str, int, str, int]]:
    """Interval, generation, state and number of the errors that the notes of a table lead to."""
    return sorted((each.interval, each.generation, each.state, each.found) for each in list_errors(lake.table()))


def held(landed: Landed) -> HeldErrors:
    """The note of the errors of a landing."""
    assert landed.holding.errors is not None
    return landed.holding.errors


def test_each_error_is_an_event_once_and_the_newest_generation_counts(lake, client, stream, letters):
    with client.writer(stream.removeprefix("stream:")) as writer:
        writer.write_many([b"of somebody else", b'{"event":"", "generation": "x"}', b'{"pointer": "other"}'])
    land = partial(land_with_errors, lake, errors=stream)
    landed = land("monday", 1, b"x", b"y\0\xff")
    assert (landed.action, landed.holding.rows, held(landed).rows) == (Action.APPEND, 3, 2)
    assert (held(landed).table, held(land("sunday", 2)).rows) == (stream, 0)
    assert land("monday", 9, b"other").action is Action.NOTHING
    assert errors_that_count(lake, stream) == [("monday", 1, b"x"), ("monday", 1, b"y\0\xff")]
    written = [json.loads(each) for each in letters(stream) if b"no 0" in each]
    assert [each.pop("failed_at")[:2] for each in written] == ["20"]
    name = held(landed).interval
    assert written == [
        {
            "event": "eA==",
            "pointer": "shop/orders/0.#epoch.0:0-9",
            "reason": "no 0\\",
            "stream": "shop/orders",
            "interval_name": "monday",
            "generation": 1,
            "target": lake.table().location(),
            "_consumer": CONSUMER,
            "_interval": name,
        }
    ]
    [record] = client.written(stream.removeprefix("stream:"), f"{name} of {CONSUMER}")
    assert (record.total_events, record.retain) == (2, None)

    assert land("monday", 3, b"z", generation=2).action is Action.REPLACE
    assert errors_that_count(lake, stream) == [("monday", 2, b"z")]
    assert states(lake) == [("monday", 1, "not counted", 2), ("monday", 2, "counted", 1)]
    assert lake.contents(lake.table()) == rows("monday", 3) + rows("sunday", 2)


@pytest.mark.parametrize("kind", ["parquet", "delta"], indirect=True)
def test_errors_whose_rows_are_not_landed_count_once_they_are(lake, stream, letters):
    land = partial(land_with_errors, lake, errors=stream)
    land("sunday", 1, b"s")
    lake.mark(lake.table())
    land("monday", 2, b"a", b"b")
    lake.take_back(lake.table())
    assert states(lake)[0] == ("monday", 1, "not counted", 2)
    land("monday", 2, b"a", b"b")
    assert (states(lake)[0], len(letters(stream))) == (("monday", 1, "counted", 2), 3)
    lake.take_back(lake.table())
    # The run that comes again finds others, as after a schema was registered.
    land("monday", 3, b"c")
    assert states(lake)[:2] == [("monday", 1, "counted", 1), ("monday", 1, "not counted", 2)]
    assert errors_that_count(lake, stream) == [("monday", 1, b"c"), ("sunday", 1, b"s")]


@FEW
def test_errors_that_retention_removed_are_missed(lake, client, stream):
    land = partial(land_with_errors, lake, errors=stream)
    land("sunday", 2)
    lake.mark(lake.table())
    land("monday", 1, b"x", b"y")
    client.truncate_stream(client.tail(stream.removeprefix("stream:")))
    [missing] = list_errors(lake.table())
    assert (missing.state, missing.landed, missing.found) == ("missing", 2, 0)
    with pytest.raises(LandingError, match="2 errors of it were landed"):
        list(read_errors(missing))
    with pytest.raises(LandingError, match=r"2 errors of it were put into .*, and 0 are in .*as generation 2"):
        land("monday", 1, b"x", b"y")
    # As after a run that was killed before it committed its rows, and came again late.
    lake.take_back(lake.table())
    with pytest.raises(LandingError, match=r"has written 2 errors .* and 0 are there: retention.*next generation"):
        land("monday", 1, b"x", b"y")
    land("monday", 1, b"x", b"y", generation=2)
    assert errors_that_count(lake, stream) == [("monday", 2, b"x"), ("monday", 2, b"y")]


@FEW
def test_errors_are_counted_without_reading_those_that_are_all_there(lake, client, stream, requests):
    """By the records of their writes: the events are read of the one write that a truncation has reached."""
    name, land = stream.removeprefix("stream:"), partial(land_with_errors, lake, errors=stream)
    land("sunday", 1, *(b"%d" % number for number in range(100)))
    before = client.tail(name)
    with client.writer(name) as writer:
        writer.write_many([b"of somebody else" * 1000] * 100)
    client.scale_stream(name, 3)
    for number in range(5):
        land(f"week {number}", 1, b"x", b"y")
    sink = ErrorsStream(StreamName.parse(name), client)

    def found() -> tuple[dict[str, int], int]:
        requests.begin()
        counts = {each.interval: each.found for each in list_errors(lake.table(), sink)}
        return counts, requests.count

    weeks = {f"week {number}": 2 for number in range(5)}
    counts, asked = found()
    assert counts == {"sunday": 100} | weeks
    assert asked < 10
    # Between the events of a write of two segments.
    positions = dict(before.positions)
    client.truncate_stream(StreamCut(before.stream, {**positions, min(positions): 0}))
    counts, asked = found()
    assert 0 < counts.pop("sunday") < 100
    assert counts == weeks
    assert asked < 30
    client.truncate_stream(before)
    assert found()[0] == {"sunday": 0} | weeks


@FEW
def test_errors_that_no_event_can_hold_change_nothing(lake, stream, letters):
    with pytest.raises(LandingError, match=r"epoch\.0:1-\d+ has .* bytes as an event of an errors stream"):
        land_with_errors(lake, "monday", 1, b"x", b"y" * 7_000_000, errors=stream)
    assert (lake.table().rows(), letters(stream)) == ({}, [])


@FEW
def test_a_stream_that_is_missing_is_refused_before_rows_are_read(lake, scope):
    with pytest.raises(StreamNotFoundError, match=f"{scope}/none does not exist: make it"):
        land_with_errors(lake, "monday", 1, errors=f"stream:{scope}/none")


def test_two_runs_at_once_write_the_errors_of_a_landing_once(client, stream, letters):
    sink = ErrorsStream(StreamName.parse(stream.removeprefix("stream:")), client)

    def put(run: int) -> None:
        found = pa.array([{"event": b"x", "pointer": "p", "reason": f"in run {run}"}], ERROR_TYPE)
        sink.put(errors_rows(found, landing(), "table"), landing())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(put, range(4))) == [None] * 4
    assert (len(letters(stream)), sink.count(landing())) == (1, 1)


@FEW
def test_mended_errors_of_a_stream_are_rows_once_and_the_others_stay(lake, stream):
    land_with_errors(lake, "monday", 1, BAD, SEVEN, EIGHT, errors=stream)
    [done] = replay(lake, errors=stream)
    assert (done.generation, done.errors, done.left, done.rows) == (2, 3, 1, 5)
    assert lake.contents(lake.table()) == sorted([*rows("monday", 1), ("monday", 7), ("monday", 8)])
    assert errors_that_count(lake, stream) == [("monday", 2, BAD)]
    assert [each.generation for each in replay(lake, errors=stream)] == [2]


@pytest.mark.parametrize(
    ("kind", "each"),
    [("parquet", 29), *(pytest.param(kind, 1, marks=pytest.mark.slow) for kind in KINDS)],
    indirect=["kind"],
)
def test_a_run_killed_at_any_step_has_the_errors_of_its_rows(make_lake, make_stream, killed_run, letters, each):
    """The run that comes again finds fewer errors, as after a schema was registered."""
    older, newer = [("monday", 1, b"both"), ("monday", 1, b"old")], [("monday", 2, b"both"), ("monday", 2, b"new")]
    for step in range(0, 10_000, each):
        lake, stream = make_lake(), make_stream(f"errors{step}")
        land = partial(land_with_errors, lake, errors=stream)
        land("sunday", 9, b"s")
        land("monday", 1, b"old", b"both")
        is_killed = killed_run(lake, "land", step, stream)
        contents = lake.contents(lake.table())
        found = {
            tuple(rows("monday", 1) + rows("sunday", 9)): older,
            tuple(rows("monday", 2) + rows("sunday", 9)): newer,
        } | ({} if lake.replaces_in_one_step else {tuple(rows("sunday", 9)): []})
        assert errors_that_count(lake, stream) == [*found[tuple(contents)], ("sunday", 1, b"s")]
        has_committed = contents == rows("monday", 2) + rows("sunday", 9)
        land("monday", 2, b"both", generation=2)
        last = newer if has_committed else [("monday", 2, b"both")]
        assert errors_that_count(lake, stream) == [*last, ("sunday", 1, b"s")]
        assert lake.contents(lake.table()) == rows("monday", 2) + rows("sunday", 9)
        # The events of each run are there as a whole, or not at all.
        assert len(letters(stream)) in ({5} if has_committed else {4, 6})
        if not is_killed:
            break
    assert step > 30
