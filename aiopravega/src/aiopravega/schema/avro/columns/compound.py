"""Readers of values with parts: records, arrays, maps and unions; see `aiopravega.schema.avro.columns.nodes`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import Numbers, numbers, pick, spread
from aiopravega.schema.avro.columns.cursors import Events, where
from aiopravega.schema.avro.columns.nodes import Node, Null


@dataclass(frozen=True, slots=True)
class Choice:
    """A union as written: a number says which branch follows."""

    type: pa.DataType
    branches: tuple[Node, ...]

    def read(self, events: Events) -> pa.Array:
        """See `Node`."""
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


@dataclass(frozen=True, slots=True)
class Member:
    """A value that is one of the columns that a union has; the others are null."""

    type: pa.DataType
    index: int
    node: Node

    def read(self, events: Events) -> pa.Array:
        """See `Node`."""
        value = self.node.read(events)
        fields = [self.type.field(number) for number in range(self.type.num_fields)]
        columns = [
            value if number == self.index else pa.nulls(len(value), field.type) for number, field in enumerate(fields)
        ]
        return pa.StructArray.from_arrays(columns, fields=fields)


@dataclass(frozen=True, slots=True)
class Fields:
    """A record: the writer's fields in order, each with its index among the reader's (-1: read and thrown away).

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
        """See `Node`."""
        count = len(events)
        columns = self.columns(events)
        if not columns:
            return pa.Array.from_buffers(self.type, count, [None], children=[])
        return pa.StructArray.from_arrays(columns, fields=list(self.type))


@dataclass(frozen=True, slots=True)
class Items:
    """An array, or a map, whose items are a key and a value."""

    type: pa.DataType
    parts: tuple[Node, ...]

    def read(self, events: Events) -> pa.Array:
        """See `Node`."""
        counts, found = self._blocks(events)
        borders = np.zeros(len(events) + 1, np.int32)
        np.cumsum(counts, out=borders[1:])
        rows = np.concatenate([rows for rows, _ in found]) if found else np.zeros(0, np.int64)
        # Items were read round by round; a stable sort brings those of one event together.
        order = np.argsort(rows, kind="stable")
        columns = [
            pick(pa.concat_arrays([values[number] for _, values in found]), order) if found else pa.nulls(0, node.type)
            for number, node in enumerate(self.parts)
        ]
        offsets = numbers(borders, pa.int32())
        if len(columns) == 1:
            return pa.ListArray.from_arrays(offsets, columns[0], type=self.type)
        return pa.MapArray.from_arrays(offsets, columns[0], columns[1], type=self.type)

    def _blocks(self, events: Events) -> tuple[Numbers, list[tuple[Numbers, Sequence[pa.Array]]]]:
        """How many items each event has, and the items: in each round one of every event that has more."""
        counts = np.zeros(len(events), np.int64)
        found: list[tuple[Numbers, Sequence[pa.Array]]] = []
        open_rows = np.arange(len(events))
        left = np.zeros(len(events), np.int64)
        while len(open_rows):
            heads = open_rows[left[open_rows] == 0]
            if len(heads):
                part = events.some(heads)
                left[heads] = _block_items(part)
                events.read_on(heads, part)
                open_rows = open_rows[left[open_rows] > 0]
                if not len(open_rows):
                    break
            part = events.some(open_rows)
            found.append((open_rows, [node.read(part) for node in self.parts]))
            events.read_on(open_rows, part)
            counts[open_rows] += 1
            left[open_rows] -= 1
        return counts, found


def _block_items(events: Events) -> Numbers:
    """How many items the next block of each has; after a negative number stands the block's size in bytes."""
    count = events.longs()
    sized = np.flatnonzero(count < 0)
    if len(sized):
        part = events.some(sized)
        part.longs()
        events.read_on(sized, part)
        count[sized] = -count[sized]
    # An item has at least one byte: a larger number is wrong, and reading it would never end.
    wrong = (count < 0) | (count > events.end - events.at)
    if wrong.any():
        events.fail(wrong, "an array or a map has more items than bytes")
        count[wrong] = 0
    return count
