"""Change events: those that a real Debezium wrote, and such as it would write."""

import gzip
import json
from pathlib import Path

from tests.unit.pravega_jobs.debezium.connect_avro import avro_of, datum_of

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo
from aiopravega.schema.registry.header import header

EVENTS = [
    json.loads(line)
    for line in gzip.decompress(
        (Path(__file__).parents[2] / "vectors" / "debezium-events.jsonl.gz").read_bytes()
    ).splitlines()
]


def texts(settings, table=None, origin=None):
    """The events of some settings, as bytes; those that never arrived in a stream are empty."""
    return [
        ((one["event"] or "").encode(), one["routing_key"] or "no key")
        for one in EVENTS
        if one["settings"] == settings and table in (None, one["table"]) and origin in (None, one["from"])
    ]


def made(op, lsn, *, at=1, snapshot="false", **after):
    source = {"connector": "postgresql", "lsn": lsn, "table": "t", "snapshot": snapshot, "ts_ms": lsn}
    images = {"before": after, "after": None} if op == "d" else {"before": None, "after": after or None}
    return json.dumps(images | {"source": source, "op": op, "ts_ms": at}).encode(), "key"


def in_avro(uri, stream, events):
    """Events that carry Connect's schemas, as Avro with the header of a stream's group in the registry."""
    found = []
    with SchemaRegistry(RegistryConfig(uri=uri)) as registry:
        registry.create_group(stream.stream, GroupProperties.of(SchemaFormat.AVRO, "AllowAny"), stream.scope)
        for event, key in events:
            document = json.loads(event)
            schema = avro_of({**document["schema"], "optional": False})
            info = SchemaInfo.of(SchemaFormat.AVRO, schema["name"], json.dumps(schema))
            version = registry.add_schema(stream.stream, info, stream.scope)
            encoding = registry.encoding_id(stream.stream, version, "", stream.scope)
            found.append((header(encoding) + datum_of(document["schema"], document["payload"], schema), key))
    return found
