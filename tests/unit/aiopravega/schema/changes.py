"""The tables of changes: test data with the violations that each change must have."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc_tools  # type: ignore[import-untyped]  # it brings no types
from grpc_tools import protoc

from aiopravega.schema import SchemaFormat, SchemaInfo, SchemaVersion, VersionInfo

VECTORS = Path(__file__).parents[3] / "vectors"
USER = "demo.User"
_INCLUDED = Path(grpc_tools.__file__).parent / "_proto"


@dataclass(frozen=True)
class Change:
    """One change: the schemas, and path and rule of each violation in each direction."""

    name: str
    old: SchemaInfo
    new: SchemaInfo
    expected: dict[str, list[tuple[str, str]]]
    server: dict[str, bool] | None


def changes(kind: SchemaFormat) -> list[Change]:
    """The table of a format."""
    text = (VECTORS / f"schema-changes-{kind.value.lower()}.json").read_text(encoding="utf-8")
    return [_change(kind, row) for row in json.loads(text)["changes"]]


def _change(kind: SchemaFormat, row: dict[str, Any]) -> Change:
    data: Callable[[Any], str | bytes] = descriptors if kind is SchemaFormat.PROTOBUF else json.dumps
    return Change(
        row["change"],
        SchemaInfo.of(kind, USER, data(row["old"])),
        SchemaInfo.of(kind, row.get("type", USER), data(row["new"])),
        {way: [(path, rule) for path, rule in row[way]] for way in ("backward", "forward")},
        row.get("server"),
    )


@cache
def descriptors(text: str) -> bytes:
    """The descriptor set of a .proto file."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "events.proto"), Path(folder, "set")
        source.write_text(text, encoding="utf-8")
        words = ["protoc", f"-I{folder}", f"-I{_INCLUDED}", "--include_imports", f"--descriptor_set_out={target}"]
        assert protoc.main([*words, str(source)]) == 0, text
        return target.read_bytes()


def version(schema: SchemaInfo, number: int = 0) -> SchemaVersion:
    """A schema as the registry has it."""
    info = VersionInfo(type=schema.type, serialization_format=schema.format.value, version=number, id=number)
    return SchemaVersion(schema_info=schema, version_info=info)
