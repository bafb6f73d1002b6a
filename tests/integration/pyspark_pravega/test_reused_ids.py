"""A write id that is used again: the same rows are not written twice, and other rows are an error."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.ledger.commits.keys import record_key


@pytest.fixture
def write(pravega_config) -> Callable[..., None]:
    """Writes a DataFrame to a stream under the write id `daily`."""

    def write(frame: DataFrame, sink: StreamName, **options: str) -> None:
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        frame.write.format("pravega").mode("append").options(**{"write_id": "daily"} | named | options).save()

    return write


@pytest.fixture
def contents(client) -> Callable[[StreamName], Counter[bytes]]:
    def contents(sink: StreamName) -> Counter[bytes]:
        return Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))

    return contents


@pytest.fixture
def rows(spark) -> Callable[..., DataFrame]:
    """Rows `start … start + count - 1`; `key` is an expression for their routing keys."""

    def rows(count: int, start: int = 0, partitions: int = 3, key: str = "concat('key-', id % 7)") -> DataFrame:
        made: DataFrame = spark.range(start, start + count, numPartitions=partitions)
        return made.selectExpr("cast(id as string) as event", f"{key} as routing_key")

    return rows


def numbers(count: int) -> Counter[bytes]:
    return Counter(str(number).encode() for number in range(count))


@pytest.mark.parametrize("partitions", [1, 4])
def test_the_same_rows_are_recognised_however_they_are_dealt_to_tasks(
    rows, write, contents, make_stream, client, partitions
):
    sink = make_stream(3)
    write(rows(1000), sink)
    first = client.commit_ledger(sink.scope).lookup(sink, "daily")

    write(rows(1000, partitions=partitions).orderBy("routing_key").repartition(partitions), sink)

    assert contents(sink) == numbers(1000)
    assert client.commit_ledger(sink.scope).lookup(sink, "daily") == first


@pytest.mark.parametrize(
    ("change", "now"),
    [
        ({"start": 1}, "1,000 events"),
        ({"count": 999}, "999 events"),
        ({"key": "concat('key-', id % 8)"}, "which differ in their routing keys or contents"),
        ({"key": "cast(null as string)"}, "which differ in their routing keys or contents"),
    ],
    ids=["other events", "fewer", "other keys", "no keys"],
)
def test_other_rows_under_a_used_id_fail_naming_the_write_and_remedy(
    rows, write, contents, make_stream, change: dict[str, Any], now
):
    sink = make_stream(2)
    write(rows(1000), sink)

    with pytest.raises(Exception, match="WriteIdReusedError") as caught:
        write(rows(**{"count": 1000} | change), sink)

    said = str(caught.value)
    assert f"write 'daily' to {sink} is done already, with other rows: 1,000 events in 10,890 bytes" in said
    assert now in said
    assert all(way in said for way in ("another write_id", "rebuild=2", "on_written=skip", "@"))
    assert contents(sink) == numbers(1000)


def test_rows_are_not_lost_after_a_first_write_of_none(rows, write, contents, make_stream):
    sink = make_stream(1)
    write(rows(10).where("event = 'no such'"), sink)
    write(rows(10).where("event = 'no such'"), sink)

    with pytest.raises(Exception, match=r"WriteIdReusedError.*other rows: 0 events in 0 bytes.*this run has 10 events"):
        write(rows(10), sink)

    assert not contents(sink)


def test_comparing_opens_no_transaction(rows, write, make_stream, client):
    sink = make_stream(2)
    write(rows(100), sink)
    client.seal_stream(sink)  # from here on, none can be opened

    write(rows(100), sink)


def test_on_written_skip_keeps_the_first_rows(rows, write, contents, make_stream):
    sink = make_stream(1)
    write(rows(100), sink)

    write(rows(50), sink, on_written="skip")

    assert contents(sink) == numbers(100)


def test_on_written_fail_refuses_a_used_id_even_for_the_same_rows(rows, write, contents, make_stream):
    sink = make_stream(1)
    write(rows(100), sink, on_written="fail")

    with pytest.raises(Exception, match=r"WriteIdReusedError.*on_written=fail no write id is used twice"):
        write(rows(100), sink, on_written="fail")

    assert contents(sink) == numbers(100)


def test_a_record_of_an_older_release_is_compared_by_its_numbers(rows, write, contents, make_stream, client):
    sink = make_stream(1)
    write(rows(100), sink)
    ledger = client.commit_ledger(sink.scope)
    found = ledger.lookup(sink, "daily").record.model_dump(mode="json")
    for name in ("by", "resolved"):
        del found[name]
    for part in found["partitions"]:
        del part["hashes"]
    old = json.dumps(found | {"version": 1}).encode()
    client.table(sink.scope, ledger.table).put(record_key(sink, "daily"), old)

    write(rows(100), sink)
    with pytest.raises(Exception, match=r"WriteIdReusedError.*this run has 99 events"):
        write(rows(99), sink)

    assert contents(sink) == numbers(100)


def test_a_generation_is_written_once_and_has_cuts_of_its_own(rows, write, contents, make_stream, client):
    sink = make_stream(2)
    write(rows(100), sink)
    write(rows(100, start=100), sink, rebuild="2")
    write(rows(100, start=100, partitions=1), sink, rebuild="2")  # the same rows: nothing is added
    write(rows(100), sink)  # so is the first generation

    with pytest.raises(Exception, match="WriteIdReusedError: generation 2 of write 'daily'.*rebuild=3"):
        write(rows(100), sink, rebuild="2")
    with pytest.raises(Exception, match="GenerationError.*the next one is rebuild=3"):
        write(rows(100), sink, rebuild="4")

    assert contents(sink) == numbers(200)
    first, second = client.written(sink, "daily")
    for start, record in ((0, first), (100, second)):
        found = sorted(int(event.data) for event in client.read(record.cuts, sink))
        assert found == list(range(start, start + 100))
