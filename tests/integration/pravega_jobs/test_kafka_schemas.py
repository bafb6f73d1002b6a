"""Values of Confluent's serializers are copied with their schemas, and read back by Pravega's registry as columns."""

import base64
import json

import pytest
from confluent_kafka import Producer
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.kafka_topics import stream, topic
from tests.unit.pravega_jobs.http_servers import played

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError, RecordRefusedError, TopicCopyError
from aiopravega.schema import RegistryConfig
from pravega_jobs.frames import range_of, read_arrow
from pravega_jobs.kafka import CopyOptions, KafkaCluster, KafkaConfig, Schemas, compare_copy, copy_of, copy_topic

__all__ = ["client", "scope", "stream", "topic"]
pytestmark = pytest.mark.xdist_group("kafka")
OPTIONS = CopyOptions(schemas=Schemas.REGISTRY)


def avro(*fields):
    named = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": named})


@pytest.fixture
def registry(pravega_emulator):
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


@pytest.fixture
def confluent():
    with played() as server:
        yield server


@pytest.fixture
def cluster(kafka, confluent):
    settings = {"schema.registry.url": confluent.uri, "schema.registry.basic.auth.user.info": "copy:open:sesame"}
    return KafkaCluster(KafkaConfig({"bootstrap.servers": kafka.bootstrap, **settings}))


@pytest.fixture
def produce(kafka, topic):
    def produce(*values):
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for number, value in enumerate(values):
            producer.produce(topic, key="k", value=value, partition=number % 2)
        assert producer.flush(30) == 0

    return produce


def of_id(number, payload):
    return b"\0" + number.to_bytes(4, "big") + payload


def rows_of(client, stream, registry):
    return read_arrow(range_of(client, stream), registry=registry, decode="auto").read_all().to_pylist()


def test_avro_of_two_versions_is_read_by_the_newest(client, cluster, confluent, registry, topic, stream, produce):
    first, second = avro(("id", "long", {})), avro(("id", "long", {}), ("note", "string", {"default": ""}))
    versions = f"/subjects/{topic}-value/versions"
    confluent.answers = {
        "/schemas/ids/7": (200, {"schema": first}),
        "/schemas/ids/70000": (200, {"schema": second}),
        "/schemas/ids/7/versions": (200, [{"subject": f"{topic}-value", "version": 1}]),
        "/schemas/ids/70000/versions": (
            200,
            [{"subject": f"{topic}{name}", "version": 2} for name in ("-value", "-values-of-others", "2-value")],
        ),
        versions: (200, [1, 2]),
        f"{versions}/1": (200, {"id": 7, "schema": first}),
        f"{versions}/2": (200, {"id": 70_000, "schema": second}),
    }
    produce(of_id(70_000, b"\x04\x02x"))  # the newer schema comes first
    produce(of_id(7, b"\x02"))
    copy_topic(client, cluster, topic, stream, options=OPTIONS, registry=registry)
    produce(of_id(7, b"\x06"))
    copy_topic(client, cluster, topic, stream, registry=registry)
    assert confluent.headers["Authorization"] == f"Basic {base64.b64encode(b'copy:open:sesame').decode()}"
    rows = rows_of(client, stream, registry)
    assert sorted((row["id"], row["note"]) for row in rows) == [(1, ""), (2, "x"), (3, "")]
    assert compare_copy(client, cluster, topic, stream, registry=registry).is_same
    with pytest.raises(ConfigurationError, match="needs Pravega's registry"):
        compare_copy(client, cluster, topic, stream)


def test_json_schemas_are_copied(client, cluster, confluent, registry, topic, stream, produce):
    schema = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})
    confluent.answers = {
        "/schemas/ids/1": (200, {"schemaType": "JSON", "schema": schema}),
        "/schemas/ids/1/versions": (404, {"error_code": 404}),
    }
    produce(of_id(1, b'{"id": 5}'))
    copy_topic(client, cluster, topic, stream, options=OPTIONS, registry=registry)
    assert rows_of(client, stream, registry) == [{"id": 5}]


def test_messages_of_protobuf_have_their_own_types(client, cluster, confluent, registry, topic, stream, produce):
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.message_type.add(name="Unused")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=FieldDescriptorProto.TYPE_INT64, label="LABEL_OPTIONAL")
    text = base64.b64encode(file.SerializeToString()).decode()
    answer = {"schemaType": "PROTOBUF", "schema": text}
    confluent.answers = {"/schemas/ids/3": (200, answer), "/schemas/ids/3?format=serialized": (200, answer)}
    produce(of_id(3, b"\x02\x02" + b"\x08\x2a"), of_id(3, b"\x00"))
    copy_topic(client, cluster, topic, stream, options=OPTIONS, registry=registry)
    known = {version.schema_info.type for version in registry.versions(stream.stream, stream.scope)}
    assert known == {"shop.Order", "shop.Unused"}
    events = sorted(event.data for event in client.read(range_of(client, stream).range, stream))
    assert sorted(event[5:] for event in events) == [b"", b"\x08\x2a"]
    assert compare_copy(client, cluster, topic, stream, registry=registry).is_same


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"plain", "does not begin with the header"),
        (of_id(9, b""), "names schema 9, which http://.* does not have"),
        (of_id(2, b""), r"has a schema \(2\) that refers to others"),
    ],
)
def test_values_without_a_schema_are_refused(client, cluster, confluent, registry, topic, stream, produce, value, why):
    refers = {"schema": avro(("id", "long", {})), "references": [{"name": "x", "subject": "x", "version": 1}]}
    confluent.answers = {"/schemas/ids/2": (200, refers), "/schemas/ids/9": (404, {"error_code": 40403})}
    produce(value)
    with pytest.raises(RecordRefusedError, match=f"offset 0 of partition 0 .* {why}"):
        copy_topic(client, cluster, topic, stream, options=OPTIONS, registry=registry)
    with pytest.raises(TopicCopyError, match="has no copy of a topic"):  # so that the options may be changed
        copy_of(client, stream)
    assert copy_topic(client, cluster, topic, stream).events == 1
