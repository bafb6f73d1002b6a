"""Serializing small records, event by event and in blocks, beside the bare libraries and Java's serializers.

    python -m benchmarks.serializers [--format avro]

One core, no stream: values become events and events values, with the header of a real registry. What is made is thrown
away in pieces, so that Python's search for garbage does not count. The contenders take turns, round by round.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, Final

import fastavro
import pyarrow as pa
from google.protobuf import descriptor_pb2
from tests.java.peer import JavaSerializers

from aiopravega.blocking import serializers as blocking
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.emulator import PravegaEmulator
from aiopravega.schema import GroupProperties, RegistryConfig
from aiopravega.schema.header import HEADER_BYTES
from aiopravega.schema.serializers import AvroFormat, EventFormat, JsonFormat, ProtobufFormat
from benchmarks.events import AVRO, flights

RESULTS: Final = Path(__file__).parent / "results"
FORMATS: Final = ("avro", "json", "protobuf")
EVENTS: Final = 1_000_000
_PIECE: Final = 50_000
_ROUNDS: Final = 3
_FIELDS: Final[list[tuple[str, str]]] = [
    (field["name"], field["type"] if isinstance(field["type"], str) else field["type"][1])
    for field in json.loads(AVRO)["fields"]
]
_ARROW: Final = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_JSON: Final = {"string": "string", "long": "integer", "double": "number", "boolean": "boolean"}
_COLUMNS: Final = pa.schema([(name, _ARROW[kind]) for name, kind in _FIELDS])
_PROTO: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _PROTO.TYPE_STRING,
    "long": _PROTO.TYPE_INT64,
    "double": _PROTO.TYPE_DOUBLE,
    "boolean": _PROTO.TYPE_BOOL,
}
Work = Callable[[], object]


def _form(name: str) -> EventFormat:
    if name == "avro":
        return AvroFormat(AVRO)
    if name == "json":
        properties = {field: {"type": _JSON[kind]} for field, kind in _FIELDS}
        return JsonFormat({"type": "object", "properties": properties}, "Flight")
    file = descriptor_pb2.FileDescriptorProto(name="flight.proto", package="demo", syntax="proto3")
    message = file.message_type.add(name="Flight")
    for number, (field, kind) in enumerate(_FIELDS, 1):
        message.field.add(name=field, number=number, type=_KINDS[kind], label=_PROTO.LABEL_OPTIONAL)
    return ProtobufFormat.of_descriptors(
        descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), "demo.Flight"
    )


def _bare(form: EventFormat, values: Sequence[Any], payloads: Sequence[bytes]) -> tuple[Work, Work]:
    """The format's library alone, without header."""
    if isinstance(form, ProtobufFormat):
        parse = form.message.FromString
        return lambda: [value.SerializeToString() for value in values], lambda: [parse(one) for one in payloads]
    if isinstance(form, JsonFormat):
        return lambda: [json.dumps(value).encode() for value in values], lambda: [json.loads(one) for one in payloads]
    schema = fastavro.parse_schema(json.loads(AVRO))

    def write(value: Any) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, value)
        return out.getvalue()

    read = fastavro.schemaless_reader
    return lambda: [write(value) for value in values], lambda: [read(BytesIO(one), schema, None) for one in payloads]


def _contenders(registry: SchemaRegistry, group: str, form: EventFormat) -> dict[str, tuple[Work, Work]]:
    """What serializes and what deserializes one piece, by the name of the contender."""
    rows = flights()
    rows = rows * (_PIECE // len(rows))
    values: list[Any] = [form.message(**row) for row in rows] if isinstance(form, ProtobufFormat) else rows
    serializer = blocking.open_serializer(registry, group, form, create=GroupProperties.of(form.info.format))
    events = serializer.serialize_many(values)
    deserializer = blocking.open_deserializer(registry, group, form)
    batch = pa.RecordBatch.from_pylist(rows, _COLUMNS)
    to_blocks = blocking.open_block_serializer(registry, group, form.info, _COLUMNS)
    of_blocks = blocking.open_block_deserializer(registry, group)
    block = to_blocks.events(batch)
    write, read = serializer.serialize, deserializer.deserialize
    return {
        "the library alone": _bare(form, values, [event[HEADER_BYTES:] for event in events]),
        "event by event": (lambda: [write(value) for value in values], lambda: [read(event) for event in events]),
        "lists of events": (
            lambda: serializer.serialize_many(values),
            lambda: deserializer.deserialize_many(events),
        ),
        "blocks (Arrow)": (lambda: to_blocks.events(batch), lambda: of_blocks.batch(block)),
    }


def _seconds(work: Work, pieces: int) -> float:
    start = time.perf_counter()
    for _ in range(pieces):
        work()
    return time.perf_counter() - start


def _measure(registry_uri: str, name: str, events: int, folder: Path) -> dict[str, dict[str, list[float]]]:
    """Seconds of each round, by contender and direction."""
    form, group = _form(name), f"bench-{name}-{time.time_ns()}"
    found: dict[str, dict[str, list[float]]] = {}

    def note(contender: str, write: float, read: float) -> None:
        times = found.setdefault(contender, {"serialize": [], "deserialize": []})
        times["serialize"].append(write)
        times["deserialize"].append(read)

    with SchemaRegistry(RegistryConfig(uri=registry_uri)) as registry, JavaSerializers(registry_uri, folder) as java:
        contenders = _contenders(registry, group, form)
        data = form.info.schema_data
        schema = data if name == "protobuf" else data.decode()
        how = {"format": name, "group": group, "type": form.info.type, "schema": schema}
        value = json.dumps(_java_value(name))
        for write, read in contenders.values():  # once, to learn what is remembered
            write()
            read()
        for _ in range(_ROUNDS):
            for contender, (write, read) in contenders.items():
                pieces = events // _PIECE
                note(contender, _seconds(write, pieces), _seconds(read, pieces))
            times = java.time(value, events, **how)
            note("Java's serializers", times["serialize"], times["deserialize"])
    return found


def _java_value(name: str) -> dict[str, Any]:
    row = flights()[0]
    return row | {"dep_delay": {"double": row["dep_delay"]}} if name == "avro" else row


def _rows(found: dict[str, dict[str, list[float]]], events: int) -> Iterator[dict[str, Any]]:
    alone = found["the library alone"]
    for contender, times in found.items():
        row: dict[str, Any] = {"contender": contender}
        for direction, seconds in times.items():
            row[direction] = round(events / median(seconds))
            ratios = [bare / own for bare, own in zip(alone[direction], seconds, strict=True)]
            row[f"{direction}_times_library"] = round(median(ratios), 2)
        yield row


def _table(name: str, rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"### {name}",
        "",
        "| contender | serialize, events/s | times the library | deserialize, events/s | times the library |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['contender']} | {row['serialize']:,} | {row['serialize_times_library']:.2f} | "
        f"{row['deserialize']:,} | {row['deserialize_times_library']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def _store(folder: Path, report: dict[str, Any]) -> None:
    """The formats of this run, beside those of runs before."""
    file = folder / "serializers.json"
    folder.mkdir(parents=True, exist_ok=True)
    before = json.loads(file.read_text()) if file.exists() else {"tables": {}}
    report["tables"] = {**before["tables"], **report["tables"]}
    file.write_text(json.dumps(report, indent=1) + "\n")
    head = (
        f"Made by `{report['command']}` on {report['date']}: {report['events']:,} flights of 10 fields, medians of "
        f"{_ROUNDS} rounds, on one core of {report['machine']['cores']}. Ratios are of single rounds."
    )
    texts = [_table(name, report["tables"][name]) for name in FORMATS if name in report["tables"]]
    (folder / "serializers.md").write_text("\n\n".join([head, *texts]) + "\n")


def run(registry_uri: str, formats: Sequence[str], out: Path, events: int = EVENTS, command: str = "") -> None:
    """Measure some formats, and print and store what came out."""
    packages = ("aiopravega", "fastavro", "protobuf", "pyarrow", "ptars")
    report: dict[str, Any] = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "events": events,
        "machine": {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
        "tables": {},
    }
    for name in formats:
        with tempfile.TemporaryDirectory() as folder:
            report["tables"][name] = list(_rows(_measure(registry_uri, name, events, Path(folder)), events))
        print(f"\n{_table(name, report['tables'][name])}\n", flush=True)
        _store(out, report)


def main() -> None:
    """Measure against the registry of `--registry`, or that of a new server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=FORMATS, action="append", help="this format; can be given again")
    parser.add_argument("--events", type=int, default=EVENTS, help="to try the benchmark itself")
    parser.add_argument("--registry", metavar="URI", help="a registry that runs already")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON and the tables")
    options = parser.parse_args()
    formats = options.format or FORMATS
    command = " ".join(["python -m benchmarks.serializers", *sys.argv[1:]])
    if options.registry:
        run(options.registry, formats, options.out, options.events, command)
        return
    with PravegaEmulator(schema_registry=True) as server:
        assert server.schema_registry_uri is not None
        run(server.schema_registry_uri, formats, options.out, options.events, command)


if __name__ == "__main__":
    main()
