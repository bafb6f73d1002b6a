"""Whether a reader's Avro schema resolves data of a writer's, and where it does not.

Stricter than the specification in one place, where readers would go wrong in silence: a logical type that became
another one. Stricter than the registry's own check in more: that takes an enum that lost symbols, for example, of which
a reader finds out at the first event that has one.
"""

from collections.abc import Mapping
from typing import Final

from aiopravega.schema.compatibility.avro.model import AvroField, AvroType
from aiopravega.schema.compatibility.findings import ABSENT, Finding, Terms

_WIDENINGS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
# A logical type that is no other view of every value of its type: not every text is a UUID.
_DEMANDING: Final = ("uuid", "decimal")


def compare(reader: AvroType, writer: AvroType, terms: Terms) -> list[Finding]:  # noqa: ARG001 - as every engine's
    """Where data that was written with one type cannot be read with another; nothing if all of it can."""
    resolution = _Resolution()
    resolution.types(reader, writer, reader.label)
    return resolution.findings


class _Resolution:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        # Types can contain themselves: each pair is looked at once.
        self._seen: set[tuple[int, int]] = set()

    def types(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if (id(reader), id(writer)) in self._seen:
            return
        self._seen.add((id(reader), id(writer)))
        if writer.kind == "union":
            for branch in writer.branches:
                self._written_branch(reader, writer, branch, path)
        elif reader.kind == "union":
            self._into_union(reader, writer, path)
        elif reader.kind == writer.kind:
            self._same_kind(reader, writer, path)
        elif reader.kind in _WIDENINGS.get(writer.kind, ()):
            self._logical_types(reader, writer, path)
        else:
            self._add(
                path,
                "type-changed",
                reader,
                writer,
                f"read {writer.label} as {writer.label}, or as a union that has both",
                f"keep {reader.label}; for {writer.label} add a new field",
            )

    def _written_branch(self, reader: AvroType, writer: AvroType, branch: AvroType, path: str) -> None:
        if reader.kind == "union" or _may_read(reader, branch):
            self.types(reader, branch, path)
        else:
            self._missing_branch(reader, writer, branch, path)

    def _into_union(self, reader: AvroType, writer: AvroType, path: str) -> None:
        same = [branch for branch in reader.branches if branch.kind == writer.kind and _same_name(branch, writer)]
        # One branch of the same kind and name decides, as in Avro's own libraries; widening comes after it.
        chosen = same or [branch for branch in reader.branches if _may_read(branch, writer)]
        if chosen:
            self.types(chosen[0], writer, path)
        else:
            self._missing_branch(reader, writer, writer, path)

    def _missing_branch(self, reader: AvroType, writer: AvroType, branch: AvroType, path: str) -> None:
        self._add(
            path,
            "union-branch-missing",
            reader,
            writer,
            f"add {branch.label} to the types of {path}",
            f"take {branch.label} out of the types of {path}",
        )

    def _same_kind(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if not _same_name(reader, writer):
            self._add(
                path,
                "name-changed",
                reader,
                writer,
                f"name it {writer.name}, or add the alias {writer.name}",
                f"name it {reader.name} as before: readers with the old schema know no other name",
            )
        match reader.kind:
            case "record":
                for field in reader.fields:
                    self._field(field, writer, path)
            case "enum":
                self._symbols(reader, writer, path)
            case "fixed" if reader.size != writer.size:
                self._add(path, "size-changed", reader, writer, f"keep the size {writer.size}", _keep(reader.size))
        if reader.items and writer.items:
            self.types(reader.items, writer.items, path + ("[]" if reader.kind == "array" else "{}"))
        self._logical_types(reader, writer, path)

    def _field(self, field: AvroField, writer: AvroType, path: str) -> None:
        written = {each.name: each for each in writer.fields}
        found = next((written[name] for name in (field.name, *sorted(field.aliases)) if name in written), None)
        place = f"{path}.{field.name}"
        if found:
            self.types(field.type, found.type, place)
        elif not field.has_default:
            self.findings.append(
                Finding(
                    place,
                    "field-without-default",
                    field.source,
                    ABSENT,
                    f"give {field.name} a default, or an alias if it is a renamed field",
                    f"keep {field.name}: readers with the old schema have no default for it",
                )
            )

    def _symbols(self, reader: AvroType, writer: AvroType, path: str) -> None:
        unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
        if unknown and not reader.has_default:
            names = ", ".join(unknown)
            texts = f"symbols {', '.join(reader.symbols)}", f"symbols {', '.join(writer.symbols)}"
            keep = f"keep {names}, or give the enum a default"
            wait = f"do not add {names} until all readers have an enum with a default"
            self.findings.append(Finding(path, "enum-symbols-missing", *texts, keep, wait))

    def _logical_types(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if reader.logical == writer.logical or not reader.logical:
            return  # who knows no logical type reads the plain value
        if writer.logical or reader.logical.startswith(_DEMANDING):
            was, now = writer.logical or f"plain {writer.kind}", reader.logical
            self._add(path, "logical-type-changed", reader, writer, f"read it as {was}", f"keep {now}")

    def _add(
        self, path: str, rule: str, reader: AvroType, writer: AvroType, change_reader: str, change_writer: str
    ) -> None:
        self.findings.append(Finding(path, rule, reader.source, writer.source, change_reader, change_writer))


def _keep(size: int) -> str:
    return f"keep the size {size}; for other sizes add a new type"


def _may_read(reader: AvroType, writer: AvroType) -> bool:
    if reader.kind == writer.kind:
        return _same_name(reader, writer)
    return reader.kind in _WIDENINGS.get(writer.kind, ())


def _same_name(reader: AvroType, writer: AvroType) -> bool:
    # The specification compares the last parts of names; an alias is a full name.
    return reader.label == writer.label or writer.name in reader.aliases
