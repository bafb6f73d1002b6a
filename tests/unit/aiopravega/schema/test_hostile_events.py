"""Events made to hurt their readers: each is refused by name, in a process that lives on, and others are still read."""

import gzip
import json
import zlib

import pyarrow as pa
import pytest

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema import CodecType, Encoding, SchemaFormat, SchemaInfo, VersionInfo, header
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.arrow.envelope import Unpacking
from aiopravega.schema.avro.columns.decoder import decoder_of
from aiopravega.schema.avro.columns.types import columns_of
from aiopravega.schema.avro.event_format import AvroFormat
from aiopravega.schema.avro.hostile import MOST_EMPTY_ITEMS, MOST_LEVELS
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.json.columns.decoder import JsonDecoder
from aiopravega.schema.json.event_format import JsonFormat
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import JsonTarget
from aiopravega.schema.protobuf.padding import without_padding
from aiopravega.schema.registry.codecs import GZIP, GzipCodec, NoCodec, register_codec

LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
TREE = {"type": "record", "name": "T", "fields": [{"name": "in", "type": {"type": "array", "items": "T"}}]}
SELF = {"type": "record", "name": "S", "fields": [{"name": "next", "type": "S"}]}
NULLS = {"type": "array", "items": "null"}


def long(value: int) -> bytes:
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def decoded(schema: object, *events: bytes) -> DecodedBlock:
    kind = parse(json.dumps(schema))
    return decoder_of(kind, kind).decode(values_of(list(events), pa.binary()))


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000], ids=["open", "closed", "objects"]
)
def test_json_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(MalformedEventError, match="nested too deeply"):
        JsonFormat("{}", "x").reader()(text)


def test_json_that_cannot_be_compared_with_its_schema_is_refused():
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}

    with pytest.raises(MalformedEventError, match="nested too deeply"):
        JsonFormat(schema, "x", validate=True).reader()(b"[" * 700 + b"]" * 700)


def test_json_of_any_depth_is_read_as_columns():
    deep = b'{"id":1,"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"

    block = JsonDecoder(pa.schema([("id", pa.int64())])).decode(values_of([deep, b'{"id":7}'], pa.binary()))

    assert block.columns[0].to_pylist() == [1, 7]


@pytest.mark.parametrize(
    ("schema", "event"),
    [(LIST, b"\2" * 1_000_000 + b"\0"), (TREE, b"\2" * 1_000_000 + b"\0"), (SELF, b"\0")],
    ids=["list", "tree", "itself"],
)
def test_avro_that_would_overflow_the_stack_is_refused(schema, event):
    with pytest.raises(MalformedEventError, match=f"more than {MOST_LEVELS} levels"):
        AvroFormat(schema).reader()(event)


@pytest.mark.parametrize("levels", [1, MOST_LEVELS - 2])
def test_avro_within_the_limit_of_levels_is_read(levels):
    value = AvroFormat(LIST).reader()(b"\2" * levels + b"\0")

    for _ in range(levels):
        value = value["next"]
    assert value == {"next": None}


def test_an_avro_array_without_end_is_refused():
    read = AvroFormat(NULLS).reader()

    assert read(long(3) + b"\0") == [None] * 3
    for count in (MOST_EMPTY_ITEMS + 1, 2**62):
        with pytest.raises(MalformedEventError, match="items without content"):
            read(long(count) + b"\0")


def test_many_avro_arrays_of_nothing_are_refused_together():
    read = AvroFormat({"type": "array", "items": NULLS}).reader()
    inner = long(MOST_EMPTY_ITEMS // 2) + b"\0"

    assert len(read(long(2) + inner * 2 + b"\0")) == 2
    with pytest.raises(MalformedEventError, match="items without content"):
        read(long(3) + inner * 3 + b"\0")


def test_avro_arrays_of_nothing_are_no_columns():
    with pytest.raises(ConfigurationError, match="has no end"):
        columns_of(parse(json.dumps(NULLS)))


def test_avro_schemas_of_many_levels_are_no_columns():
    schema: object = "long"
    for _ in range(100):
        schema = {"type": "array", "items": schema}

    with pytest.raises(ConfigurationError, match="nested more than 60 levels"):
        columns_of(parse(json.dumps(schema)))


# 500,000 items took as many rounds, which were more than 90 seconds.
@pytest.mark.parametrize(
    ("items", "item", "value"),
    [
        ("long", long(-70), -70),
        ("double", bytes(8), 0.0),
        ("string", long(2) + b"ab", "ab"),
        (["null", "int"], b"\2\4", 2),
        ({"type": "array", "items": "int"}, b"\4\2\4\0", [1, 2]),
        ({"type": "map", "values": "boolean"}, b"\2\2k\1\0", [("k", True)]),
        ({"type": "fixed", "name": "f", "size": 2}, b"xy", b"xy"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, b"\2", "B"),
        ({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, b"\6", {"a": 3}),
    ],
    ids=["long", "double", "string", "union", "array", "map", "fixed", "enum", "record"],
)
@pytest.mark.parametrize("sized", [False, True])
def test_long_arrays_are_read_at_once(items, item, value, sized):
    count = 50_000
    head = long(-count) + long(count * len(item)) if sized else long(count)
    event = head + item * count + long(1) + item + b"\0"

    block = decoded({"type": "array", "items": items}, b"\0", event, long(2) + item * 2 + b"\0")

    assert not block.bad
    counts = block.columns[0].value_lengths().to_pylist()
    assert counts == [0, count + 1, 2]
    assert block.columns[0][1][count].as_py() == value
    assert block.columns[0][2].as_py() == [value, value]


@pytest.mark.parametrize(
    "broken",
    [
        long(3) + long(2) + b"ab" + long(2) + b"\xff\xfe" + long(1) + b"c\0",  # not UTF-8, in the middle
        long(3) + long(2) + b"ab" + long(900),  # an item ends after the event
        long(3) + long(2) + b"ab" + long(-4) + b"abcd",  # a negative length
        long(2) + (long(2) + b"ab") * 2,  # no end
        long(2**62),  # more items than bytes
        long(2) + b"\x80" * 40,  # a number without end
    ],
    ids=["text", "beyond", "negative", "open", "many", "number"],
)
def test_a_broken_array_costs_its_neighbours_nothing(broken):
    good = long(2) + long(2) + b"ab" + long(1) + b"c" + b"\0"

    block = decoded({"type": "array", "items": "string"}, good, broken, good)

    assert list(block.bad) == [1]
    assert block.columns[0].to_pylist() == [["ab", "c"], ["ab", "c"]]


def test_few_small_events_cannot_fill_the_memory():
    payload = json.dumps({"id": 7}).encode()
    packed = [gzip.compress(payload + b" " * 1000)] * 5
    decoder = Unpacking(GzipCodec(), JsonDecoder(pa.schema([("id", pa.int64())])), most=3 * 1100)

    block = decoder.decode(values_of(packed, pa.binary()))

    assert block.columns[0].to_pylist() == [7, 7, 7]
    assert {row: why.split(" more")[0] for row, why in block.bad.items()} == dict.fromkeys(
        (3, 4), "its block of events unpacks to"
    )


def test_a_codec_without_a_limit_is_held_to_it():
    register_codec("careless", NoCodec())
    encoding = Encoding(
        schema_info=SchemaInfo.of(SchemaFormat.JSON, "x", "{}"),
        version_info=VersionInfo(type="x", serialization_format="Json", version=0, id=0),
        codec_type=CodecType(name="careless"),
    )
    target = JsonTarget(pa.schema([("id", pa.int64())]))
    events = [header(0) + b'{"id":1}', header(0) + b'{"id":2}' + b" " * 100]

    block = BlockDeserializer(target, lambda _: encoding, limit=50).decode(values_of(events, pa.binary()))

    assert block.columns[0].to_pylist() == [1]
    assert "limit of 50" in block.bad[1]


def test_gzip_in_gzip_is_unpacked_once():
    bomb = zlib.compress(zlib.compress(bytes(1_000_000), wbits=31), wbits=31)

    assert len(GzipCodec().decompress(bomb)) < 10_000
    assert GZIP


def test_a_number_without_end_is_left_to_the_decoder_of_protobuf():
    payload = b"\xff" * 1_000_000 + b"\0"

    assert without_padding(payload) == payload
