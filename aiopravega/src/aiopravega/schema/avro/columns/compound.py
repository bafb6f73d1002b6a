"""Readers of records and unions; see `aiopravega.schema.avro.columns.nodes`."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import numbers, spread
from aiopravega.schema.avro.columns import walks
from aiopravega.schema.avro.columns.cursors import Events, where
from aiopravega.schema.avro.columns.nodes import Node, Null


@dataclass(frozen=True, slots=True)
class Choice:
    """Reads a union: the number of a branch, then its value."""

    type: pa.DataType
    branches: tuple[Node, ...]

    def read(self, events: Events) -> pa.Array:
        branch = events.longs()
        events.fail((branch < 0) | (branch >= len(self.branches)), "a union has no such branch")
        found, order = [], []
        for number, node in enumerate(self.branches):
            rows = np.flatnonzero(branch == number)
            if len(rows) and not isinstance(node, Null):
                found.append(where(events, rows, node.read))
                order.append(rows)
        if not found:
            return pa.nulls(len(events), self.type)
        rows = np.concatenate(order)
        return spread(pa.concat_arrays(found), rows, len(events))

    def walk(self, view: memoryview, at: int) -> int:
        branch, at = walks.number(view, at)
        if branch < 0:
            raise IndexError("a union has no such branch")
        return self.branches[branch].walk(view, at)


@dataclass(frozen=True, slots=True)
class Member:
    """Reads a value into one of the columns of a union; the others are null."""

    type: pa.DataType
    index: int
    node: Node

    def read(self, events: Events) -> pa.Array:
        value = self.node.read(events)
        fields = [self.type.field(number) for number in range(self.type.num_fields)]
        columns = [
            value if number == self.index else pa.nulls(len(value), field.type) for number, field in enumerate(fields)
        ]
        return pa.StructArray.from_arrays(columns, fields=fields)

    def walk(self, view: memoryview, at: int) -> int:
        return self.node.walk(view, at)


@dataclass(frozen=True, slots=True)
class Fields:
    """Reads a record: the writer's fields in order, each with its index among the reader's (-1: read and dropped).

    `defaults` are the values, as arrays of one, of the reader's fields that the writer does not have.
    """

    type: pa.DataType
    written: tuple[tuple[Node, int], ...]
    defaults: tuple[tuple[int, pa.Array], ...]

    def columns(self, events: Events) -> list[pa.Array]:
        """The reader's fields."""
        columns: list[pa.Array] = [None] * self.type.num_fields
        for node, index in self.written:
            value = node.read(events)
            if index >= 0:
                columns[index] = value
        for index, default in self.defaults:
            columns[index] = default.take(numbers(np.zeros(len(events), np.int64), pa.int64()))
        return columns

    def read(self, events: Events) -> pa.Array:
        count = len(events)
        columns = self.columns(events)
        if not columns:
            return pa.Array.from_buffers(self.type, count, [None], children=[])
        return pa.StructArray.from_arrays(columns, fields=list(self.type))

    def walk(self, view: memoryview, at: int) -> int:
        for node, _ in self.written:
            at = node.walk(view, at)
        return at
