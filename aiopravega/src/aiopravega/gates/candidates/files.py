"""Schemas of files: Avro (.avsc), JSON Schema (.json), Protobuf (.proto, or a compiled descriptor set)."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema import SchemaFormat, SchemaInfo

_DESCRIPTOR_SETS: Final = frozenset({".desc", ".pb", ".binpb", ".protoset"})
SUFFIXES: Final = frozenset({".avsc", ".json", ".proto", *_DESCRIPTOR_SETS})
_COMPILER_SECONDS: Final = 60


def from_file(
    path: str | Path, type_name: str | None = None, proto_path: str | Path | Sequence[str | Path] = ()
) -> SchemaInfo:
    """The schema in a file, by the file's ending.

    Args:
        path: `.avsc`; `.json` (a JSON Schema, or an Avro record); `.proto`, which `protoc` or the package grpcio-tools
            compiles; `.desc`, `.pb`, `.binpb`, `.protoset`: compiled, with its imports.
        type_name: of the schema; by default an Avro schema's own name, the only message of a Protobuf file, and for
            JSON the type that the group has.
        proto_path: of a `.proto` file: the folders in which its imports are looked for, in this order; the file has to
            lie in one of them. A text is one folder. By default the folder of the file.

    Raises:
        ConfigurationError: the file cannot be read, or has another ending; there is no compiler; a folder is missing,
            or none has the file.
        InvalidSchemaError: the file is not a schema of its format.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"{file} does not have the ending of a schema: use {', '.join(sorted(SUFFIXES))}")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read the schema {file}: {error.strerror}") from None
    if suffix == ".proto":
        roots = [proto_path] if isinstance(proto_path, str | Path) else proto_path
        return protobuf_schema(_compiled(file, [Path(root) for root in roots]), type_name, str(file))
    if suffix in _DESCRIPTOR_SETS:
        return protobuf_schema(data, type_name, str(file))
    return text_schema(data, type_name, str(file), avro=suffix == ".avsc")


def text_schema(data: bytes, type_name: str | None, what: str, *, avro: bool) -> SchemaInfo:
    """A schema in JSON: a schema of Avro, or a JSON Schema.

    Raises:
        InvalidSchemaError: it is not JSON.
    """
    try:
        document = json.loads(data)
    except ValueError as error:
        raise InvalidSchemaError(f"{what} is not JSON: {error}") from None
    if avro or _is_avro_record(document):
        return SchemaInfo.of(SchemaFormat.AVRO, type_name or _avro_name(document), data)
    return SchemaInfo.of(SchemaFormat.JSON, type_name or "", data)


def _is_avro_record(document: Any) -> bool:
    return isinstance(document, dict) and document.get("type") == "record" and isinstance(document.get("fields"), list)


def _avro_name(document: Any) -> str:
    """The full name of a named Avro type; empty for other types."""
    name = document.get("name", "") if isinstance(document, dict) else ""
    space = document.get("namespace", "") if isinstance(document, dict) else ""
    return name if "." in name or not space else f"{space}.{name}"


def protobuf_schema(data: bytes, type_name: str | None, what: str) -> SchemaInfo:
    """The schema of a descriptor set; by default for the only message of its last file, which its imports precede.

    Raises:
        InvalidSchemaError: the bytes are not a descriptor set, or have no such message.
    """
    try:
        files = FileDescriptorSet.FromString(data).file
    except DecodeError:
        files = None
    if not files:
        raise InvalidSchemaError(
            f"{what} is not a Protobuf descriptor set: make one with protoc --include_imports --descriptor_set_out"
        )
    messages = [[f"{file.package}.{one.name}".lstrip(".") for one in file.message_type] for file in files]
    known = [name for of_file in messages for name in of_file]
    if type_name is not None and type_name not in known:
        raise InvalidSchemaError(f"{what} has no message {type_name}; it has {', '.join(known) or 'none'}")
    only = messages[-1][0] if len(messages[-1]) == 1 else ""
    return SchemaInfo.of(SchemaFormat.PROTOBUF, type_name or only, data)


def _compiled(file: Path, roots: Sequence[Path]) -> bytes:
    named = ", ".join(map(str, roots))
    for root in roots:
        if not root.is_dir():
            raise ConfigurationError(f"--proto-path names {root}, which is not a folder")
    if roots and not any(_absolute(file).is_relative_to(_absolute(root)) for root in roots):
        raise ConfigurationError(
            f"{file} lies in no folder of --proto-path ({named}): name the root of its project, too, so that it has a "
            "name by which others import it"
        )
    # The compiler compares paths as texts.
    folders = [f"-I{_absolute(root)}" for root in roots or (file.parent,)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.desc"
        words = [*_compiler(), *folders, "--include_imports", f"--descriptor_set_out={out}", str(_absolute(file))]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=_COMPILER_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"compiling {file} took more than {_COMPILER_SECONDS} s") from None
        if done.returncode:
            said = " ".join(done.stderr.split())
            raise InvalidSchemaError(f"{file} cannot be compiled: {said}{_ways_out(said, roots, file)}")
        return out.read_bytes()


def _absolute(path: Path) -> Path:
    """The path from the top, without `..`; links are not followed, for a file is imported by the name of its link."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # pathlib has no such function


def _ways_out(said: str, roots: Sequence[Path], file: Path) -> str:
    """The ways out, if the compiler has not found an import."""
    if "not found" not in said:
        return ""
    searched = ", ".join(map(str, roots or (file.parent,)))
    return (
        f". Imports were looked for in {searched}: name the folder that they begin at by --proto-path (in Python: "
        "proto_path), or give the descriptor set that protoc --include_imports --descriptor_set_out makes"
    )


def _compiler() -> list[str]:
    protoc = shutil.which("protoc")
    if protoc is not None:
        return [protoc]
    if importlib.util.find_spec("grpc_tools") is not None:
        return [sys.executable, "-m", "grpc_tools.protoc"]
    raise ConfigurationError(
        "a .proto file needs a compiler: install protoc or the package grpcio-tools, or give the descriptor set that "
        "protoc --include_imports --descriptor_set_out makes"
    )
