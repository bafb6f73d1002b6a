"""A plan of reading: the steps by which data of one schema becomes values of another.

`aiopravega.schema.avro.resolution` makes it. Readers of columns and of single events follow it; they do not compare
schemas themselves. A plan is a graph: a record that contains itself is a step that contains itself.
"""

from dataclasses import dataclass
from typing import TypeAlias

from aiopravega.schema.avro import model as avro


@dataclass(frozen=True, slots=True)
class ReadPrimitive:
    """A primitive value, read as the same type or as another one."""

    writer: avro.Primitive
    reader: avro.Primitive


@dataclass(frozen=True, slots=True)
class ReadFixed:
    """A fixed number of bytes."""

    writer: avro.Fixed
    reader: avro.Fixed


@dataclass(frozen=True, slots=True)
class ReadSymbol:
    """An enumeration: for each symbol of the writer the reader's, None if it has none."""

    reader: avro.Enumeration
    symbols: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ReadItems:
    """An array."""

    reader: avro.Sequence
    items: "Step"


@dataclass(frozen=True, slots=True)
class ReadEntries:
    """A map."""

    reader: avro.Mapping
    values: "Step"


@dataclass(frozen=True, slots=True)
class ReadField:
    """A field of the writer's record, which becomes the reader's field at an index."""

    step: "Step"
    index: int


@dataclass(frozen=True, slots=True)
class SkipField:
    """A field of the writer's record that the reader does not have."""

    type: avro.AvroType


@dataclass(slots=True, eq=False)
class ReadRecord:
    """A record: the writer's fields in order, and the indices of the reader's fields that get their default.

    `problem` is the reason for which no such record can be read; it is empty if some can.
    """

    writer: avro.Record
    reader: avro.Record
    written: tuple[ReadField | SkipField, ...] = ()
    defaults: tuple[int, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReadBranches:
    """A written union: a number says which of the steps follows."""

    reader: avro.AvroType
    branches: tuple["Step", ...]


@dataclass(frozen=True, slots=True)
class IntoBranch:
    """A value that becomes the branch of the reader's union at an index."""

    reader: avro.Union
    index: int
    step: "Step"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that the reader's schema cannot hold; events with such a value are malformed."""

    writer: avro.AvroType
    reader: avro.AvroType
    problem: str


Step: TypeAlias = (
    ReadPrimitive
    | ReadFixed
    | ReadSymbol
    | ReadItems
    | ReadEntries
    | ReadRecord
    | ReadBranches
    | IntoBranch
    | Unreadable
)


def problem_of(step: Step) -> str:
    """The reason for which no value at all can be read by this step; empty if some can."""
    return step.problem if isinstance(step, ReadRecord | Unreadable) else ""
