"""Serializing small records, event by event and in blocks, beside the bare libraries and Java's serializers.

    python -m benchmarks.serializers [--format avro]

No stream: values become events and events values, with the header of a real registry. What is made is thrown away in
pieces, so that Python's search for garbage does not count. The contenders take turns, round by round. Times are of
the processor, of all cores together, so that others on the machine do not count: what is found is what one core does.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

import fastavro
import pyarrow as pa
from google.protobuf import descriptor_pb2
from tests.java.peer import JavaSerializers

from aiopravega.blocking import blocks
from aiopravega.blocking import serializers as blocking
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig
from aiopravega.schema.registry.codecs import HEADER_BYTES
from aiopravega.schema.serializers import AvroFormat, EventFormat, JsonFormat, ProtobufFormat
from benchmarks.events import AVRO, flights
from pravega_emulator import PravegaEmulator

RESULTS: Final = Path(__file__).parent / "results"
FORMATS: Final = ("avro", "json", "protobuf")
EVENTS: Final = 1_000_000
_PIECE: Final = 50_000
_ROUNDS: Final = 3
_ARROW: Final = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_JSON: Final = {"string": "string", "long": "integer", "double": "number", "boolean": "boolean"}
_PROTO: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _PROTO.TYPE_STRING,
    "long": _PROTO.TYPE_INT64,
    "double": _PROTO.TYPE_DOUBLE,
    "boolean": _PROTO.TYPE_BOOL,
}
Work = Callable[[], object]


@dataclass(frozen=True)
class Records:
    """Rows that are serialized, with their Avro schema."""

    name: str
    avro: str
    rows: list[dict[str, Any]]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Names and Avro types."""
        listed = json.loads(self.avro)["fields"]
        return [(one["name"], one["type"] if isinstance(one["type"], str) else one["type"][1]) for one in listed]

    @property
    def columns(self) -> pa.Schema:
        """The same for Arrow."""
        return pa.schema([(name, _ARROW[kind]) for name, kind in self.fields])


_USER: Final = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]
RECORDS: Final = (
    Records("flights of 10 fields", AVRO, flights()),
    Records(
        "users of 2 fields",
        json.dumps({"type": "record", "name": "User", "fields": _USER}),
        [{"id": number, "name": f"user-{number % 97}"} for number in range(10_000)],
    ),
)


def _form(name: str, records: Records) -> EventFormat:
    if name == "avro":
        return AvroFormat(records.avro)
    if name == "json":
        properties = {field: {"type": _JSON[kind]} for field, kind in records.fields}
        return JsonFormat({"type": "object", "properties": properties}, "Row")
    file = descriptor_pb2.FileDescriptorProto(name="row.proto", package="demo", syntax="proto3")
    message = file.message_type.add(name="Row")
    for number, (field, kind) in enumerate(records.fields, 1):
        message.field.add(name=field, number=number, type=_KINDS[kind], label=_PROTO.LABEL_OPTIONAL)
    return ProtobufFormat.of_descriptors(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), "demo.Row")


def _bare(form: EventFormat, values: Sequence[Any], payloads: Sequence[bytes]) -> tuple[Work, Work]:
    """The format's library alone, without header."""
    if isinstance(form, ProtobufFormat):
        parse = form.message.FromString
        return lambda: [value.SerializeToString() for value in values], lambda: [parse(one) for one in payloads]
    if isinstance(form, JsonFormat):
        return lambda: [json.dumps(value).encode() for value in values], lambda: [json.loads(one) for one in payloads]
    schema = fastavro.parse_schema(json.loads(form.info.text))

    def write(value: Any) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, value)
        return out.getvalue()

    read = fastavro.schemaless_reader
    return lambda: [write(value) for value in values], lambda: [read(BytesIO(one), schema, None) for one in payloads]


def _contenders(
    registry: SchemaRegistry, group: str, form: EventFormat, records: Records
) -> dict[str, tuple[Work, Work]]:
    """The functions that serialize and deserialize one piece, by the name of the contender."""
    rows = records.rows * (_PIECE // len(records.rows))
    values: list[Any] = [form.message(**row) for row in rows] if isinstance(form, ProtobufFormat) else rows
    serializer = blocking.open_serializer(registry, group, form)
    events = serializer.serialize_many(values)
    deserializer = blocking.open_deserializer(registry, group, form)
    batch = pa.RecordBatch.from_pylist(rows, records.columns)
    to_blocks = blocks.open_block_serializer(registry, group, form.info, records.columns)
    of_blocks = blocks.open_block_reader(registry, group)
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
    start = time.process_time()
    for _ in range(pieces):
        work()
    return time.process_time() - start


def _measure(
    registry_uri: str, name: str, records: Records, events: int, folder: Path
) -> dict[str, dict[str, list[float]]]:
    """Seconds of the processor in each round, by contender and direction."""
    form, group = _form(name, records), f"bench-{name}-{time.time_ns()}"
    found: dict[str, dict[str, list[float]]] = {}

    def note(contender: str, write: float, read: float) -> None:
        times = found.setdefault(contender, {"serialize": [], "deserialize": []})
        times["serialize"].append(write)
        times["deserialize"].append(read)

    with (
        SchemaRegistry(RegistryConfig(uri=registry_uri)) as registry,
        JavaSerializers(registry_uri, folder, full_jit=True) as java,
    ):
        contenders = _contenders(registry, group, form, records)
        data = form.info.schema_data
        schema = data if name == "protobuf" else data.decode()
        how = {"format": name, "group": group, "type": form.info.type, "schema": schema}
        value = json.dumps(_java_value(name, records))
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


def _java_value(name: str, records: Records) -> dict[str, Any]:
    row = records.rows[0]
    # Avro's own JSON names the branches of unions.
    return row | {"dep_delay": {"double": row["dep_delay"]}} if name == "avro" and "dep_delay" in row else row


def _rows(found: dict[str, dict[str, list[float]]], events: int) -> Iterator[dict[str, Any]]:
    alone = found["the library alone"]
    for contender, times in found.items():
        row: dict[str, Any] = {"contender": contender, "events": events}
        for direction, seconds in times.items():
            row[direction] = round(events / median(seconds))
            ratios = [bare / own for bare, own in zip(alone[direction], seconds, strict=True)]
            row[f"{direction}_times_library"] = round(median(ratios), 2)
        yield row


def _table(name: str, rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"### {name}, {rows[0]['events']:,} events",
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
        f"Made by `{report['command']}` on {report['date']}: medians of {_ROUNDS} rounds, "
        "without a stream, by second of processor time. Ratios are of single rounds."
    )
    texts = [_table(title, rows) for title, rows in sorted(report["tables"].items())]
    (folder / "serializers.md").write_text("\n\n".join([head, *texts]) + "\n")


def run(
    registry_uri: str,
    formats: Sequence[str],
    out: Path,
    events: int = EVENTS,
    command: str = "",
    kinds: Sequence[Records] = RECORDS,
) -> None:
    """Measure some formats with some records, and print and store what came out."""
    packages = ("aiopravega", "fastavro", "protobuf", "pyarrow", "ptars")
    report: dict[str, Any] = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
        "tables": {},
    }
    for name, records in product(formats, kinds):
        title = f"{name}, {records.name}"
        with tempfile.TemporaryDirectory() as folder:
            report["tables"][title] = [*_rows(_measure(registry_uri, name, records, events, Path(folder)), events)]
        print(f"\n{_table(title, report['tables'][title])}\n", flush=True)
        _store(out, report)


def main() -> None:
    """Measure against the registry of `--registry`, or that of a new server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=FORMATS, action="append", help="this format; can be given again")
    parser.add_argument("--records", choices=[kind.name.split()[0] for kind in RECORDS], help="these records only")
    parser.add_argument("--events", type=int, default=EVENTS, help="to try the benchmark itself")
    parser.add_argument("--registry", metavar="URI", help="a registry that runs already")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON and the tables")
    options = parser.parse_args()
    formats = options.format or FORMATS
    kinds = [kind for kind in RECORDS if options.records in {None, kind.name.split()[0]}]
    command = "python -m benchmarks.serializers"  # of which a run of one format is a part
    if options.registry:
        run(options.registry, formats, options.out, options.events, command, kinds)
        return
    with PravegaEmulator(schema_registry=True, full_jit=True) as server:
        assert server.schema_registry_uri is not None
        run(server.schema_registry_uri, formats, options.out, options.events, command, kinds)


if __name__ == "__main__":
    main()
