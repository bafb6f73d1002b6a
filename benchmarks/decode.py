"""Decoders alone, on one core, without Spark and Pravega: python -m benchmarks.decode.

Peers that are not installed are left out: pip install fastavro pyruhvro polars, to compare.
"""

import io
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa

from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, ProtobufTarget, Target
from benchmarks.encoded_events import FIELDS, MESSAGE, avro_event, protobuf_message
from benchmarks.events import AVRO, flights

_TIMES_THE_ROWS: Final = 10
_ATTEMPTS: Final = 7
_ARROW: Final = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
Decode = Callable[[], object]


def _ours(target: Target, events: pa.BinaryArray) -> object:
    return target.decoder(None).decode(events)


def _peers_of_avro(events: list[bytes]) -> dict[str, Decode]:
    """Decoders of others; those that know no Arrow give dictionaries, which are less."""
    peers: dict[str, Decode] = {}
    if find_spec("fastavro"):
        fastavro: Any = import_module("fastavro")
        schema = fastavro.parse_schema(json.loads(AVRO))
        peers["fastavro, dictionaries"] = lambda: [
            fastavro.schemaless_reader(io.BytesIO(event), schema) for event in events
        ]
        if find_spec("polars"):
            polars: Any = import_module("polars")
            container = io.BytesIO()
            records = [fastavro.schemaless_reader(io.BytesIO(event), schema) for event in events]
            fastavro.writer(container, schema, records, sync_interval=1 << 30)
            peers["polars, one container block"] = lambda: polars.read_avro(io.BytesIO(container.getvalue()))
    if find_spec("pyruhvro"):
        array = values_of(events, pa.binary())
        pyruhvro: Any = import_module("pyruhvro")
        peers["pyruhvro, with making its list"] = lambda: pyruhvro.deserialize_array(array.to_pylist(), AVRO)
    return peers


def _show(title: str, events: list[bytes], decoders: Mapping[str, Decode]) -> None:
    size = sum(map(len, events))
    print(f"\n{title}: {len(events):,} flights of {size // len(events)} bytes\n")
    print("| decoder | million events/s | MB/s |\n|---|---|---|")
    for name, decode in decoders.items():
        seconds = min(_seconds(decode) for _ in range(_ATTEMPTS))
        print(f"| {name} | {len(events) / seconds / 1e6:.2f} | {size / seconds / 1e6:.0f} |")


def _seconds(decode: Decode) -> float:
    start = time.thread_time()  # of this thread: others on the machine do not count
    decode()
    return time.thread_time() - start


def main() -> None:
    """Print a table for each format."""
    rows = flights() * _TIMES_THE_ROWS
    avro = [avro_event(row) for row in rows]
    ours = partial(_ours, AvroTarget.of(AVRO), values_of(avro, pa.binary()))
    _show("Avro", avro, {"decode=avro": ours, **_peers_of_avro(avro)})
    text = [json.dumps(row).encode() for row in rows]
    columns = pa.schema([(name, _ARROW[kind]) for name, kind in FIELDS])
    peers = {"json.loads, dictionaries": lambda: [json.loads(event) for event in text]}
    _show("JSON", text, {"decode=json": partial(_ours, JsonTarget(columns), values_of(text, pa.binary())), **peers})
    descriptors, flight = protobuf_message()
    binary = [flight(**row).SerializeToString() for row in rows]
    target = ProtobufTarget.of(descriptors, MESSAGE)
    peers = {"protobuf, messages": lambda: [flight.FromString(event) for event in binary]}
    _show("Protobuf", binary, {"decode=protobuf": partial(_ours, target, values_of(binary, pa.binary())), **peers})


if __name__ == "__main__":
    main()
