"""Rows with an error in DataFrames and queries: they go to an errors stream, by the decision of the other rows."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from aiopravega import StreamCut, StreamCutRange, StreamName
from pravega_jobs.landing import WrittenStream, list_errors
from pravega_jobs.replays import replay_errors

GOOD = 1_000
BAD = [b"no json %d" % number for number in range(10)]
DECODE = {"decode": "json", "columns": "id long", "on_error": "dead", "missing_fields": "fail"}


@pytest.fixture
def orders(client, make_stream) -> StreamName:
    """A stream of orders, ten of which cannot be decoded."""
    made: StreamName = make_stream(4)
    with client.writer(made) as writer:
        writer.write_many([b'{"id": %d}' % number for number in range(GOOD)])
        writer.write_many(BAD)
    return made


@pytest.fixture
def beside(client, orders) -> tuple[StreamName, StreamName]:
    """A stream for rows, and one for errors."""
    made = StreamName(orders.scope, f"{orders.stream}-clean"), StreamName(orders.scope, f"{orders.stream}-dead")
    for each in made:
        assert client.create_stream(each)
    return made


@pytest.fixture
def options(pravega_config) -> Callable[..., dict[str, str]]:
    """The options for a stream."""

    def options(stream: StreamName, **more: object) -> dict[str, str]:
        own = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        return own | {name: str(value) for name, value in more.items()}

    return options


@pytest.fixture
def read(spark, options) -> Callable[[StreamName], DataFrame]:
    def read(stream: StreamName) -> DataFrame:
        frame: DataFrame = spark.read.format("pravega").options(**options(stream, **DECODE)).load()
        return frame

    return read


@pytest.fixture
def write(options) -> Callable[..., None]:
    def write(frame: DataFrame, beside: tuple[StreamName, StreamName], **more: object) -> None:
        given = {"errors": f"stream:{beside[1]}", "write_id": "daily", "encode": "json", **more}
        chosen = options(beside[0], **{name: value for name, value in given.items() if value is not None})
        frame.write.format("pravega").mode("append").options(**chosen).save()

    return write


@pytest.fixture
def events(client) -> Callable[[StreamName], list[bytes]]:
    everything = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
    return lambda stream: [event.data for event in client.read(everything, stream)]


def letters(found: list[bytes]) -> list[bytes]:
    return sorted(base64.b64decode(json.loads(each)["event"]) for each in found)


def test_a_frame_is_written_with_its_errors_once_and_they_are_replayed(read, write, orders, beside, events, client):
    clean, dead = beside
    for _ in range(2):
        write(read(orders), beside, consumer="lake", interval="monday", most_errors="1%")
    assert sorted(json.loads(each)["id"] for each in events(clean)) == list(range(GOOD))
    assert letters(events(dead)) == sorted(BAD)
    [record] = client.written(clean, "daily")
    assert (record.errors.rows, record.errors.consumer, record.errors.interval) == (10, "lake", "monday")
    [counted] = list_errors(WrittenStream(clean, client))
    assert (counted.state, counted.found) == ("counted", 10)

    def mended(rows: Any) -> Any:
        return rows.rename_columns(["id"])

    texts = {"decode": "json", "columns": "id long"}
    assert [each.left for each in replay_errors(WrittenStream(clean, client), texts, change=mended)] == [10]
    assert len(events(clean)) == GOOD


def test_other_errors_under_a_write_id_fail_the_job(read, write, orders, beside, client):
    write(read(orders), beside)
    with client.writer(orders) as writer:
        writer.write(b"one more")
    with pytest.raises(Exception, match="with 10 errors, .*this run has 11, of other events"):
        write(read(orders), beside)


def test_more_errors_than_allowed_leave_nothing(read, write, orders, beside, events):
    with pytest.raises(Exception, match="TooManyErrorsError: .*10 of 1010 rows are errors, and most_errors is 9"):
        write(read(orders), beside, most_errors=9)
    assert (events(beside[0]), events(beside[1])) == ([], [])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"errors": None}, "the rows have the column '_error'"),
        ({"errors": None, "most_errors": 1}, "option 'most_errors' needs option 'errors'"),
        ({"errors": "delta:/errors"}, "the errors of a write go into a stream"),
        ({"exactly_once": "false", "write_id": None}, "option 'errors' needs exactly_once=true"),
        ({"most_errors": "many"}, "most_errors is 'many', but must be"),
        ({"errors": "stream:none/there"}, "none/there does not exist"),
    ],
)
def test_errors_that_cannot_go_anywhere_are_refused(read, write, orders, beside, events, given, message):
    with pytest.raises(Exception, match=message):
        write(read(orders), beside, **given)
    assert events(beside[0]) == []


def test_micro_batches_are_written_with_their_errors_once(spark, options, orders, beside, events, client, tmp_path):
    clean, dead = beside

    def run() -> None:
        source = spark.readStream.format("pravega").options(**options(orders, start_stream_cut="earliest", **DECODE))
        sink = source.load().writeStream.format("pravega").trigger(availableNow=True)
        sink = sink.options(**options(clean, errors=f"stream:{dead}", encode="json"))
        sink.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()

    run()
    with client.writer(orders) as writer:
        writer.write_many([b'{"id": -1}', b"later"])
    run()
    run()
    assert sorted(json.loads(each)["id"] for each in events(clean)) == [-1, *range(GOOD)]
    assert letters(events(dead)) == sorted([*BAD, b"later"])
    found = list_errors(WrittenStream(clean, client))
    assert {each.state for each in found} == {"counted"}
    assert sum(each.landed for each in found) == 11
