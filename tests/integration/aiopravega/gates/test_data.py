"""The gate for data on a real stream and registry: what decodes, and what is reported about events that do not."""

import json
from io import BytesIO

import fastavro
import pytest

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, GroupNotFoundError
from aiopravega.gates import check_data
from aiopravega.schema import CodecType, SchemaFormat, SchemaInfo, header
from aiopravega.schema.open import register_schema
from aiopravega.schema.registry.codecs import GZIP, codec_named

WHOLE = StreamCutRange(UNBOUNDED, UNBOUNDED)


def datum(schema: SchemaInfo, value: dict[str, object]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema.text)), value)
    return out.getvalue()


@pytest.fixture
async def stream(client, scope) -> StreamName:
    await client.create_stream(f"{scope}/orders", ScalingPolicy.fixed(2))
    return StreamName(scope, "orders")


@pytest.fixture
def write(client, stream):
    async def write(*events: bytes) -> None:
        async with client.writer(stream) as writer:
            for number, event in enumerate(events):
                await writer.write(event, routing_key=str(number))

    return write


@pytest.fixture
def registered(registry, stream):
    """Registers a schema for the stream; returns the header of its events."""

    async def registered(schema: SchemaInfo, codec: str = "") -> bytes:
        report = await register_schema(registry, stream, schema)
        if codec:
            await registry.add_codec("orders", CodecType(name=codec), stream.scope)
        return header(await registry.encoding_id("orders", report.registered, codec, stream.scope))

    return registered


async def test_events_of_all_versions_and_codecs_decode_with_what_they_claim(
    client, registry, stream, registered, order, write
):
    first, second = await registered(order()), await registered(order("good"))
    packed = await registered(order("good"), GZIP)
    old, new = datum(order(), {"id": 1}), datum(order("good"), {"id": 2, "note": "n"})
    await write(*[first + old] * 3, *[second + new] * 2, packed + codec_named(GZIP).compress(new))

    report = await check_data(client, registry, WHOLE, stream, sample=None)

    assert (report.passed, report.events, report.sampled) == (True, 6, False)
    counts = sorted((claim.version, claim.codec, events) for claim, (events, _) in report.counts.items())
    assert counts == [(0, "", 3), (1, "", 2), (1, GZIP, 1)]
    assert report.range.start == await client.head(stream)


async def test_an_undecodable_event_is_reported_with_pointer_and_reason(
    client, registry, stream, registered, order, write
):
    head = await registered(order())
    await write(head + datum(order(), {"id": 1}), head + b"", b"plain", header(77) + b"x")

    report = await check_data(client, registry, WHOLE, stream)

    assert (report.passed, report.events, report.failed) == (False, 4, 3)
    reasons = {failure.encoding_id: failure.reason for failure in report.failures}
    assert "not a datum of its Avro schema" in reasons[0]
    assert "no header" in reasons[None]
    assert "encoding 77" in reasons[77]
    for failure in report.failures:
        assert not (await client.fetch(failure.pointer)).data.startswith(head + b"\x02")
    found = json.loads(json.dumps(report.to_json()))
    assert (found["failed"], len(found["failures"])) == (3, 3)
    assert "refused: 3 of 4 events" in report.table()


async def test_json_is_held_against_its_schema_and_protobuf_must_parse(client, registry, stream, registered, write):
    text = '{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}'
    head = await registered(SchemaInfo.of(SchemaFormat.JSON, "", text))
    await write(head + b'{"id": 1}', head + b'{"id": "one"}', head + b"{")

    report = await check_data(client, registry, WHOLE, stream)

    assert sorted(failure.reason.split(":")[0] for failure in report.failures) == [
        "it does not fit its JSON Schema",
        "it is not JSON",
    ]


async def test_a_sample_takes_some_events_from_all_over_the_range(client, registry, stream, registered, order, write):
    head = await registered(order())
    good = head + datum(order(), {"id": 1})
    await write(*[good] * 400)
    await write(*[b"no header"] * 400)

    report = await check_data(client, registry, WHOLE, stream, sample=100, most_failures=5)

    assert report.events == 100
    assert 0 < report.failed < 100
    assert len(report.failures) == 5


async def test_events_without_a_header_can_be_held_against_a_schema(client, registry, stream, registered, order, write):
    await registered(order())
    await write(datum(order("good"), {"id": 2, "note": "n"}), b"\x02")

    report = await check_data(client, registry, WHOLE, stream, without_header=order("good"))

    assert (report.events, report.failed) == (2, 1)


async def test_what_cannot_be_asked_is_an_error(client, registry, stream):
    with pytest.raises(GroupNotFoundError, match="no group 'orders'"):
        await check_data(client, registry, WHOLE, stream)
    with pytest.raises(ConfigurationError, match="sample of 0"):
        await check_data(client, registry, WHOLE, stream, sample=0)
