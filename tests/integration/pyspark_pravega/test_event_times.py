"""Reads of intervals of event times: by the watermarks of a real stream, whatever format its events have."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from aiopravega import ScalingPolicy, StreamName
from pravega_jobs.retries import error_in

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HOURS = 72
JSON = {"decode": "json", "schema_text": json.dumps({"type": "object", "properties": {"at": {"type": "integer"}}})}
AVRO = {
    "decode": "avro",
    "schema_text": json.dumps(
        {
            "type": "record",
            "name": "Event",
            "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
        }
    ),
}


def at(hour: int) -> datetime:
    return NEW_YEAR + timedelta(hours=hour)


def millis(hour: int) -> int:
    return int(at(hour).timestamp() * 1000)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def as_json(hour: int) -> bytes:
    return json.dumps({"at": millis(hour)}).encode()


def as_avro(hour: int) -> bytes:
    return varint(millis(hour) << 1)


def as_protobuf(hour: int) -> bytes:
    return b"\x08" + varint(millis(hour))


@pytest.fixture
def protobuf(tmp_path) -> dict[str, str]:
    files = FileDescriptorSet()
    file = files.file.add(name="event.proto", package="test", syntax="proto3")
    message = file.message_type.add(name="Event")
    message.field.add(
        name="at", number=1, type=FieldDescriptorProto.TYPE_INT64, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    path = tmp_path / "event.desc"
    path.write_bytes(files.SerializeToString())
    return {"decode": "protobuf", "schema_file": str(path)}


@pytest.fixture
def timed(client, scope):
    """Makes streams of an event an hour, with a mark of the new year, that are complete because they are sealed."""

    def make(name: str, encode, seal: bool = True) -> StreamName:
        patience = timedelta(minutes=5)
        assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(2), timestamp_aggregation_timeout=patience)
        client.note_time(f"{scope}/{name}", "writer", NEW_YEAR)
        with client.writer(f"{scope}/{name}") as writer:
            hours = [hour * 7 % HOURS for hour in range(HOURS)]  # out of order
            writer.write_many([encode(hour) for hour in hours], map(str, hours))
        next(iter(client.watermarks(f"{scope}/{name}", follow=True)))
        if seal:
            client.seal_stream(f"{scope}/{name}")
        return StreamName(scope, name)

    return make


def days(*edges: int, **options: str) -> list[dict[str, str]]:
    """Options of neighbouring intervals whose edges are hours."""
    return [
        {"event_time": "at", "event_time_from": at(since).isoformat(), "event_time_to": at(until).isoformat()} | options
        for since, until in pairwise(edges)
    ]


@pytest.mark.parametrize("name", ["json", "avro", "protobuf"])
def test_neighbouring_intervals_share_no_row_and_miss_none(timed, read, protobuf, name):
    encode, options, number = {
        "json": (as_json, JSON, "at"),
        "avro": (as_avro, AVRO, "unix_millis(at)"),
        "protobuf": (as_protobuf, protobuf, "at"),
    }[name]
    stream = timed(name, encode)

    found = [
        read(stream, **options | interval).selectExpr(f"({number} - {millis(0)}) / 3600000 as hour")
        for interval in days(0, 24, HOURS + 1)
    ]

    assert [sorted(row.hour for row in frame.collect()) for frame in found] == [
        list(range(24)),
        list(range(24, HOURS)),
    ]


def test_given_cuts_bound_the_search(timed, read, client):
    stream = timed("cuts", as_json, seal=False)
    (day,) = days(0, 24, start_stream_cut="earliest", end_stream_cut="latest")
    with client.writer(stream) as writer:
        writer.write_many([as_json(5), as_json(99)])

    assert read(stream, **JSON | day).count() == 25


def test_what_the_watermarks_cannot_answer_is_an_error(timed, read, client, scope):
    stream = timed("open", as_json, seal=False)

    def error_of(stream, *edges: int, **more: str) -> str:
        (interval,) = days(*edges, **more)
        with pytest.raises(Exception, match="pravega") as caught:
            read(stream, **JSON | interval).count()
        error = error_in(caught.value)
        assert error is not None, caught.value
        return f"{type(error).__name__}: {error}"

    assert error_of(stream, 0, 24).startswith("NotYetError: the stream is not complete up to")
    assert error_of(stream, -48, -24).startswith("BeforeHistoryError")
    assert "has no zone" in error_of(stream, 0, 24, event_time_from="2013-01-01T00:00:00")
    assert "names column 'hour'" in error_of(stream, 0, 24, event_time="hour")
    assert client.create_stream(f"{scope}/silent", ScalingPolicy.fixed(1))
    assert error_of(StreamName(scope, "silent"), 0, 24).startswith("NoWatermarksError")
    assert error_of(StreamName(scope, "missing"), 0, 24).startswith("StreamNotFoundError")
    cuts = {"start_stream_cut": client.head(f"{scope}/open").to_text()}
    cuts["end_stream_cut"] = client.tail(f"{scope}/open").to_text()
    client.truncate_stream(client.tail(f"{scope}/open"))
    client.seal_stream(f"{scope}/open")
    assert error_of(stream, 0, 24).startswith("StreamTruncatedError")
    (clipped,) = days(0, 24, event_time_clip="true")
    assert read(stream, **JSON | clipped).count() == 0
    assert "the StreamCut is of" in error_of(StreamName(scope, "silent"), 0, 24, **cuts)
    client.delete_stream(f"{scope}/open")
    client.create_stream(f"{scope}/open", ScalingPolicy.fixed(2))
    assert error_of(stream, 0, 24, **cuts).startswith("StreamMadeAgainError")
    assert error_of(stream, 0, 24).startswith("NoWatermarksError")
