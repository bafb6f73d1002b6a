"""Numbers and names that must not be used again: a newer message or enum has to reserve an older one's.

An event that was written long ago may hold any number that was ever in use; a reserved number cannot get another
meaning in later schemas. Here the newer schema is compared with the older one, whichever of them reads.
"""

from collections.abc import Iterable
from typing import Any

from google.protobuf import descriptor_pb2

from aiopravega.schema.policy.findings import ABSENT, Finding


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
    """The findings where a newer message or enum frees numbers or names that the older one used or reserved."""
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
