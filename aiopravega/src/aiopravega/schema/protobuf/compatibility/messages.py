"""Comparison of a reader's and a writer's message type, field by field, by number."""

from collections.abc import Iterable
from typing import Any, Final

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.policy import ABSENT, ComparisonTerms, Finding, undecided
from aiopravega.schema.protobuf.compatibility.wire import (
    declaration,
    is_repeated,
    is_required,
    keeps_values,
    oneof_of,
    same_wire_type,
    type_name,
)
from aiopravega.schema.protobuf.descriptors import descriptor_of
from aiopravega.schema.registry.model import SchemaInfo

_OWN: Final = "google.protobuf."


def parse(schema: SchemaInfo) -> Descriptor:
    """The message type of a schema.

    Raises:
        InvalidSchemaError: the schema's data is not a descriptor set, or has no such message.
    """
    try:
        return descriptor_of(schema.schema_data, schema.type)
    except ConfigurationError as error:
        raise InvalidSchemaError(f"the Protobuf schema of {schema.type}: {error}") from None


def compare(reader: Descriptor, writer: Descriptor, terms: ComparisonTerms) -> list[Finding]:
    """The findings of a comparison: fields that a reader does not read, or reads as other values; empty if none."""
    comparison = _Comparison(terms)
    comparison.messages(reader, writer, reader.name)
    return list(dict.fromkeys(comparison.findings))


class _Comparison:
    def __init__(self, terms: ComparisonTerms) -> None:
        self.findings: list[Finding] = []
        self._new_reads = terms.direction == "backward"
        # Messages can contain themselves: each pair is compared once.
        self._seen: set[tuple[str, str]] = set()

    def messages(self, reader: Descriptor, writer: Descriptor, path: str) -> None:
        if (reader.full_name, writer.full_name) in self._seen:
            return
        self._seen.add((reader.full_name, writer.full_name))
        if self._new_reads:
            self.findings += kept(reader, writer, path)
        ours, theirs = _fields(reader), _fields(writer)
        for number, field in ours.items():
            at = f"{path}.{field.name}"
            if number in theirs:
                self._field(field, theirs[number], at)
            elif is_required(field):
                self._missing(field, ABSENT, at)
            elif any(start <= number < end for start, end in writer.extension_ranges):
                why = f"the writer may have extensions with the number {number}"
                self.findings.append(undecided(at, declaration(field), _extensions(writer), why))
        self._oneofs(reader, theirs, path)
        self._message_sets(reader, writer, path)

    def _field(self, reader: FieldDescriptor, writer: FieldDescriptor, path: str) -> None:
        if is_required(reader) and not is_required(writer):
            self._missing(reader, declaration(writer), path)
        if is_repeated(writer) and not is_repeated(reader):
            keep = "keep it repeated"
            self._add(path, "repeated-to-singular", reader, writer, keep, "keep it singular; add a repeated field")
        if not same_wire_type(reader.type, writer.type):
            self._type(path, "wire-type-changed", reader, writer)
        elif not keeps_values(reader.type, writer.type):
            self._type(path, "values-changed", reader, writer)
        elif reader.enum_type is not None:
            self._enum(reader.enum_type, reader, writer, path)
        elif reader.message_type is not None and writer.message_type is not None:
            self._message_field(reader.message_type, writer.message_type, reader, writer, path)
        defaults = reader.has_default_value or writer.has_default_value
        if defaults and not is_required(writer) and reader.default_value != writer.default_value:
            was = f"keep the default {writer.default_value}", f"keep the default {reader.default_value}"
            self._add(path, "default-changed", reader, writer, *was)

    def _message_field(
        self, ours: Descriptor, theirs: Descriptor, reader: FieldDescriptor, writer: FieldDescriptor, path: str
    ) -> None:
        if ours.GetOptions().map_entry and theirs.GetOptions().map_entry:
            for number, at in ((1, f"{path}{{key}}"), (2, f"{path}{{}}")):
                self._field(ours.fields_by_number[number], theirs.fields_by_number[number], at)
            return
        known = ours.full_name.startswith(_OWN) or theirs.full_name.startswith(_OWN)
        # Protobuf's own types mean more than their fields: a Duration would pass as a Timestamp.
        nothing_common = ours.name != theirs.name and _fields(theirs) and not _fields(ours).keys() & _fields(theirs)
        if ours.full_name != theirs.full_name and (known or nothing_common):
            self._type(path, "message-replaced", reader, writer)
        else:
            self.messages(ours, theirs, path + ("[]" if is_repeated(reader) else ""))

    def _enum(self, ours: EnumDescriptor, reader: FieldDescriptor, writer: FieldDescriptor, path: str) -> None:
        theirs = writer.enum_type
        if theirs is None:
            if ours.is_closed:
                texts = _values(ours), declaration(writer)
                keep = f"keep {type_name(writer)}: any number can be there"
                wait = f"keep {type_name(reader)}: readers take no other numbers than its own"
                self.findings.append(Finding(path, "enum-values-missing", *texts, keep, wait))
            return
        unknown = numbers(number for number in theirs.values_by_number if number not in ours.values_by_number)
        # An open enum keeps a number that it has no name for; a closed one reads the field as absent.
        if ours.is_closed and unknown:
            keep = f"keep the values {unknown}: a closed enum reads others as absent"
            wait = f"do not write {unknown} until all readers know it"
            self.findings.append(Finding(path, "enum-values-missing", _values(ours), _values(theirs), keep, wait))
        elif self._new_reads:
            self.findings += kept(ours, theirs, path)

    def _oneofs(self, reader: Descriptor, theirs: dict[int, FieldDescriptor], path: str) -> None:
        for oneof in reader.oneofs:
            written = [theirs[field.number] for field in oneof.fields if field.number in theirs and oneof_of(field)]
            # An event has only one of the fields that are also in one oneof of the writer.
            oneofs = [oneof_of(field) for field in written]
            together = {each.name if each else field.name for each, field in zip(oneofs, written, strict=True)}
            if len(together) > 1:
                ours = f"oneof {oneof.name} {{ {'; '.join(declaration(field) for field in oneof.fields)} }}"
                names = ", ".join(field.name for field in written)
                self.findings.append(
                    Finding(
                        f"{path}.{oneof.name}",
                        "oneof-joined",
                        ours,
                        "; ".join(_placed(field) for field in written),
                        f"leave {names} out of one oneof: events can have more than one of them",
                        f"keep {names} in one oneof, so that no event has two of them",
                    )
                )

    def _message_sets(self, reader: Descriptor, writer: Descriptor, path: str) -> None:
        sets = reader.GetOptions().message_set_wire_format, writer.GetOptions().message_set_wire_format
        if sets[0] != sets[1]:
            ours, theirs = (f"message_set_wire_format = {str(each).lower()}" for each in sets)
            self.findings.append(undecided(path, ours, theirs, "the old encoding of message sets is not compared"))

    def _missing(self, field: FieldDescriptor, writer: str, path: str) -> None:
        make, keep = f"make {field.name} optional", f"keep {field.name} required: readers refuse events without it"
        self.findings.append(Finding(path, "required-missing", declaration(field), writer, make, keep))

    def _type(self, path: str, rule: str, reader: FieldDescriptor, writer: FieldDescriptor) -> None:
        other = "another type needs another number"
        keep = f"keep {type_name(writer)}: {other}", f"keep {type_name(reader)}: {other}"
        self._add(path, rule, reader, writer, *keep)

    def _add(self, path: str, rule: str, reader: Any, writer: Any, change_reader: str, change_writer: str) -> None:
        texts = declaration(reader), declaration(writer)
        self.findings.append(Finding(path, rule, *texts, change_reader, change_writer))


def _fields(message: Descriptor) -> dict[int, FieldDescriptor]:
    """The fields by number, with the extensions that the descriptor set has."""
    extensions = {field.number: field for field in message.file.pool.FindAllExtensions(message)}
    return extensions | dict(message.fields_by_number)


def _placed(field: FieldDescriptor) -> str:
    oneof = oneof_of(field)
    return f"oneof {oneof.name} {{ {declaration(field)} }}" if oneof else declaration(field)


def _extensions(message: Descriptor) -> str:
    return "extensions " + ", ".join(f"{start} to {end - 1}" for start, end in message.extension_ranges)


def _values(enum: EnumDescriptor) -> str:
    values = ", ".join(f"{value.name} = {value.number}" for value in enum.values)
    return f"{'closed ' if enum.is_closed else ''}enum {enum.full_name} {{ {values} }}"


class Reserved:
    """The reserved and the used numbers and names of a message or an enum. Ranges include both ends."""

    def __init__(self, descriptor: Any) -> None:
        if hasattr(descriptor, "values_by_number"):
            enum = descriptor_pb2.EnumDescriptorProto()
            descriptor.CopyToProto(enum)
            self.ranges = [(each.start, each.end) for each in enum.reserved_range]
            self.names = set(enum.reserved_name)
            self.used = {value.number: value.name for value in descriptor.values}
        else:
            message = descriptor_pb2.DescriptorProto()
            descriptor.CopyToProto(message)
            # Ranges of messages exclude their end, ranges of enums include it.
            self.ranges = [(each.start, each.end - 1) for each in message.reserved_range]
            self.names = set(message.reserved_name)
            self.used = {field.number: field.name for field in descriptor.fields}

    def has(self, number: int) -> bool:
        """True if a number is reserved."""
        return any(start <= number <= end for start, end in self.ranges)

    def covers(self, start: int, end: int) -> bool:
        """True if all numbers of a range are reserved."""
        at = start
        for low, high in sorted(self.ranges):
            if low <= at <= high:
                at = high + 1
        return at > end

    def __str__(self) -> str:
        ranges = [str(start) if start == end else f"{start} to {end}" for start, end in self.ranges]
        names = [f'"{name}"' for name in sorted(self.names)]
        return f"reserved {', '.join(ranges + names)}" if ranges or names else ABSENT


def kept(new: Any, old: Any, path: str) -> list[Finding]:
    """The findings where a newer message or enum frees numbers or names that the older one used or reserved.

    An event that was written long ago may hold any number that was ever in use; a reserved number cannot get another
    meaning in later schemas. So the newer schema has to reserve it, whichever of the two reads.
    """
    after, before = Reserved(new), Reserved(old)
    violations = []
    for number, name in before.used.items():
        if number not in after.used and not after.has(number):
            remedy = f"add: reserved {number};"
            violations.append(
                _finding(f"{path}.{name}", "number-not-reserved", str(after), f"{name} = {number}", remedy)
            )
    for start, end in before.ranges:
        for number in (number for number in after.used if start <= number <= end):
            name = after.used[number]
            remedy = f"give {name} a number that was never in use, and add again: reserved {number};"
            texts = f"{name} = {number}", str(before)
            violations.append(_finding(f"{path}.{name}", "reserved-number-used", *texts, remedy))
        if not after.covers(start, end) and not any(start <= number <= end for number in after.used):
            text = str(start) if start == end else f"{start} to {end}"
            violations.append(
                _finding(path, "reservation-dropped", str(after), str(before), f"add again: reserved {text};")
            )
    return violations + _names(after, before, path)


def _names(after: Reserved, before: Reserved, path: str) -> list[Finding]:
    violations = []
    for name in sorted(before.names - after.names):
        rule, at, remedy = "reservation-dropped", path, f'add again: reserved "{name}";'
        if name in set(after.used.values()):
            rule, at, remedy = "reserved-name-used", f"{path}.{name}", "take another name: this one had a meaning"
        violations.append(_finding(at, rule, str(after), str(before), remedy))
    return violations


def _finding(path: str, rule: str, reader: str, writer: str, remedy: str) -> Finding:
    return Finding(path, rule, reader, writer, remedy, remedy)


def numbers(values: Iterable[int]) -> str:
    """Numbers in a text."""
    return ", ".join(str(value) for value in values)
