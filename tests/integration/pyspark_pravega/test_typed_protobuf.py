"""Protobuf events read by a real Spark, by a descriptor set or by the registry."""

import json
from pathlib import Path

from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import CodecType, GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "java-serializers.json").read_text())["events"]
JAVA_WROTE = [bytes.fromhex(event["hex"]) for event in VECTORS if event["format"] == "Protobuf"]
MESSAGE = "google.protobuf.Timestamp"  # the one of which Java's events are


def descriptors() -> bytes:
    files = FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    return files.SerializeToString()


def test_protobuf_is_read_by_a_descriptor_set(read, client, make_stream, tmp_path):
    stream = make_stream(1)
    with client.writer(stream) as writer:
        writer.write_many([timestamp_pb2.Timestamp(seconds=n).SerializeToString() for n in range(9)], ["key"] * 9)
    (tmp_path / "timestamp.desc").write_bytes(descriptors())

    frame = read(stream, decode="protobuf", schema_file=tmp_path / "timestamp.desc", schema_type=MESSAGE)

    assert frame.dtypes == [("seconds", "bigint"), ("nanos", "int")]
    assert [tuple(row) for row in frame.collect()] == [(number, 0) for number in range(9)]


def test_what_java_wrote_with_a_registry_is_read(read, client, make_stream, pravega_emulator):
    stream = make_stream(1)
    uri = pravega_emulator.schema_registry_uri
    with SchemaRegistry(RegistryConfig(uri=uri)) as registry:
        registry.create_group(stream.stream, GroupProperties.of(SchemaFormat.PROTOBUF), stream.scope)
        registry.add_codec(stream.stream, CodecType(name="application/x-snappy-framed"), stream.scope)
        schema = SchemaInfo.of(SchemaFormat.PROTOBUF, MESSAGE, descriptors())
        version = registry.add_schema(stream.stream, schema, stream.scope)
        for codec in ("", "application/x-snappy-framed"):  # which get the ids 0 and 1, as in Java's events
            registry.encoding_id(stream.stream, version, codec, stream.scope)
    with client.writer(stream) as writer:
        writer.write_many(JAVA_WROTE, ["key"] * len(JAVA_WROTE))

    frame = read(stream, decode="auto", schema_registry_uri=uri)

    assert [tuple(row) for row in frame.collect()] == [(7, 9), (7, 9)]
