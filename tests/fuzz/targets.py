"""Targets of fuzzing: all functions that read bytes of other programs. Each reads them or refuses them.

A target raises nothing but errors of the package for any bytes. Those that read columns hold, too, that an event that
is damaged changes nothing in the events beside it.
"""

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.fuzz import samples

from aiopravega import StreamCut, StreamName, wire
from aiopravega.errors import PravegaError
from aiopravega.event_time.marks import Watermark
from aiopravega.groups.changes import apply_event
from aiopravega.groups.cut_bytes import JavaCheckpoint
from aiopravega.groups.state import GroupState
from aiopravega.ledger import CutRecord
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.avro.parsing import parse as parse_avro
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, ProtobufTarget, Target
from aiopravega.schema.protobuf.descriptors import parse as parse_descriptors
from aiopravega.schema.registry.codecs import GZIP, LZ4, SNAPPY, codec_named
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import ChangeOptions, NewColumns
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for
from pravega_jobs.landing import Holding

VECTORS = Path(__file__).parents[1] / "vectors"
STREAM = StreamName("examples", "orders")
# Of what is unpacked: an input of a few bytes that becomes more than this is a finding.
LIMIT = 1_000_000


@dataclass(frozen=True)
class Fuzzed:
    """Reads bytes; `seeds` are bytes to begin with."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


def _frames() -> Fuzzed:
    def read(data: bytes) -> None:
        decoder, rest = wire.FrameDecoder(), memoryview(data)
        while rest:
            room = decoder.buffer()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            for _ in decoder.received(count):  # it decodes when it is asked
                pass
            rest = rest[count:]

    return Fuzzed(read, tuple(bytes.fromhex(each) for each in _vectors("wire.json")["frames"].values()))


def _cuts() -> Fuzzed:
    texts = [each["text"].encode() for each in _vectors("java-client.json")["stream_cuts"]]
    return Fuzzed(lambda data: StreamCut.from_text(data.decode("latin-1")), tuple(texts))


def _groups() -> Fuzzed:
    events = [bytes.fromhex(each) for each in _vectors("reader-group.json")["events"]]

    def read(data: bytes) -> None:
        """The first byte says after how many true events it comes."""
        state: GroupState | None = None
        for event in events[: data[0] % len(events)] if data else []:
            state = apply_event(state, event)
        apply_event(state, data[1:])

    return Fuzzed(read, tuple(bytes([number]) + event for number, event in enumerate(events)))


def _codec(name: str) -> Fuzzed:
    codec = codec_named(name)

    def read(data: bytes) -> None:
        assert len(codec.decompress(data, LIMIT)) <= LIMIT

    return Fuzzed(read, tuple(codec.compress(each) for each in (b"", b"a", b"orders" * 1000, bytes(range(256)))))


def _columns(target: Target, good: Iterable[bytes]) -> Fuzzed:
    seeds = tuple(good)
    decoder = target.decoder(None)

    def rows(*events: bytes) -> tuple[list[dict[str, Any]], dict[int, str]]:
        block = decoder.decode(values_of(list(events), pa.binary()))
        batch = pa.RecordBatch.from_arrays(block.columns, schema=target.schema)
        batch.validate(full=True)
        return batch.to_pylist(), block.bad

    expected, _ = rows(seeds[0])

    def read(data: bytes) -> None:
        found, bad = rows(seeds[0], data, seeds[0])
        assert bad.keys() <= {1}
        assert len(found) + len(bad) == len(expected) + 2
        assert found[:1] == found[-1:] == expected

    return Fuzzed(read, seeds)


def _changes() -> Fuzzed:
    lines = gzip.decompress((VECTORS / "debezium-events.jsonl.gz").read_bytes()).decode().splitlines()
    events = [(one["settings"], one["table"], one["event"]) for one in map(json.loads, lines) if one["event"]]
    written = next(event for settings, table, event in events if (settings, table) == ("schema", "kinds"))
    meanings = schema_in(written)
    options = ChangeOptions(key=("id",), new_columns=NewColumns.REST)
    schema = columns_for(columns_of(meanings), options, tuple(metadata.TYPES))

    def read(data: bytes) -> None:
        decoder = ChangeDecoder(ChangePlan(schema, options, meanings))
        block = decoder.decode(values_of([data], pa.binary()), np.zeros(1, np.int64))
        pa.RecordBatch.from_arrays(block.columns, schema=schema).validate(full=True)
        assert len(set(block.taken.tolist())) + sum(block.left_out.values()) + len(block.bad) == 1

    return Fuzzed(read, tuple(event.encode() for _, table, event in events if table == "kinds")[:60])


def _records() -> Fuzzed:
    def read(data: bytes) -> None:
        for kind in (CutRecord, CommitRecord, Holding):
            try:
                kind.from_json(data)
            except PravegaError:
                continue

    return Fuzzed(read, samples.records())


def _schemas() -> Fuzzed:
    texts = [json.dumps(each["old"]).encode() for each in _vectors("schema-changes-avro.json")["changes"]]
    return Fuzzed(parse_avro, tuple(texts[:40]))


TARGETS: dict[str, Callable[[], Fuzzed]] = {
    "frames of the wire protocol": _frames,
    "texts of cuts": _cuts,
    "state of a reader group": _groups,
    "checkpoint of Java": lambda: Fuzzed(
        JavaCheckpoint.from_bytes, (bytes.fromhex(_vectors("reader-group.json")["checkpoint"]),)
    ),
    "watermarks": lambda: Fuzzed(
        lambda data: Watermark.parse(data, STREAM),
        tuple(bytes.fromhex(each["hex"]) for each in _vectors("watermarks.json")),
    ),
    "records of the ledgers": _records,
    "gzip": lambda: _codec(GZIP),
    "snappy": lambda: _codec(SNAPPY),
    "lz4": lambda: _codec(LZ4),
    "Avro schemas": _schemas,
    "Protobuf descriptors": lambda: Fuzzed(parse_descriptors, (samples.DESCRIPTORS,)),
    "Avro columns": lambda: _columns(AvroTarget.of(samples.AVRO_SCHEMA), samples.AVRO_EVENTS),
    "JSON columns": lambda: _columns(JsonTarget(samples.JSON_SCHEMA), samples.JSON_EVENTS),
    "Protobuf columns": lambda: _columns(
        ProtobufTarget.of(samples.DESCRIPTORS, "demo.Order"), samples.protobuf_events()
    ),
    "changes of Debezium": _changes,
}
