"""Blocks of compressed events: nothing unpacks without limit, and its neighbours are still read."""

import pyarrow as pa

from aiopravega.schema import CodecType, Encoding, SchemaFormat, SchemaInfo, VersionInfo, codec_named, header
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import JsonTarget
from aiopravega.schema.registry.codecs import GZIP, LZ4, SNAPPY


def encoding(codec: str) -> Encoding:
    return Encoding(
        schema_info=SchemaInfo.of(SchemaFormat.JSON, "x", "{}"),
        version_info=VersionInfo(type="x", serialization_format="Json", version=0, id=0),
        codec_type=CodecType(name=codec),
    )


def test_a_bomb_is_a_bad_event_among_good_ones(payloads):
    encodings = {0: encoding(GZIP), 1: encoding(SNAPPY), 2: encoding(LZ4)}
    target = JsonTarget(pa.schema([("id", pa.int64())]))
    good, bomb = b'{"id":7}', b'{"id":8}' + b" " * 10_000

    block = BlockDeserializer(target, encodings.__getitem__, limit=1000).decode(
        payloads(
            *[
                header(number) + codec_named(one.codec_type.name).compress(payload)
                for payload in (good, bomb)
                for number, one in encodings.items()
            ]
        )
    )

    assert block.columns[0].to_pylist() == [7, 7, 7]
    assert sorted(block.bad) == [3, 4, 5]
    assert all("limit of 1000" in why for why in block.bad.values())
