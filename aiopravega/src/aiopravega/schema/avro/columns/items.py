"""Readers of arrays and maps, whose items have no fixed offsets; see `aiopravega.schema.avro.columns.nodes`.

In each round, one item of every event that has more is read. Long arrays of a few events would take as many rounds as
they have items, and a round costs as much as hundreds of items. So if few events are left, their items are walked byte
by byte, only to find the beginning of each, and then all items are read at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import Numbers, numbers, pick
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.nodes import Node
from aiopravega.schema.avro.columns.walks import block_items

# One round takes as long as walking so many events; more events are faster in rounds.
_FEW: Final = 256
_BROKEN: Final = "an array or a map has an item that cannot be read"

_Found = list[tuple[Numbers, Sequence[pa.Array]]]


@dataclass(frozen=True, slots=True)
class Items:
    """Reads an array, or a map, whose items are a key and a value."""

    type: pa.DataType
    parts: tuple[Node, ...]

    def read(self, events: Events) -> pa.Array:
        counts, found = self._blocks(events)
        borders = np.zeros(len(events) + 1, np.int32)
        np.cumsum(counts, out=borders[1:])
        rows = np.concatenate([rows for rows, _ in found]) if found else np.zeros(0, np.int64)
        # Items were read round by round; a stable sort brings the items of one event together.
        order = np.argsort(rows, kind="stable")
        columns = [
            pick(pa.concat_arrays([values[number] for _, values in found]), order) if found else pa.nulls(0, node.type)
            for number, node in enumerate(self.parts)
        ]
        offsets = numbers(borders, pa.int32())
        if len(columns) == 1:
            return pa.ListArray.from_arrays(offsets, columns[0], type=self.type)
        return pa.MapArray.from_arrays(offsets, columns[0], columns[1], type=self.type)

    def walk(self, view: memoryview, at: int) -> int:
        return self._walk(view, at, 0, [], [])

    def _blocks(self, events: Events) -> tuple[Numbers, _Found]:
        """The number of items of each event, and the items: in each round one of every event that has more."""
        counts = np.zeros(len(events), np.int64)
        found: _Found = []
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
            if len(open_rows) <= _FEW:
                self._read_walked(events, open_rows, left, counts, found)
                break
            part = events.some(open_rows)
            found.append((open_rows, [node.read(part) for node in self.parts]))
            events.read_on(open_rows, part)
            counts[open_rows] += 1
            left[open_rows] -= 1
            open_rows = open_rows[events.alive(open_rows)]
        return counts, found

    def _read_walked(self, events: Events, rows: Numbers, left: Numbers, counts: Numbers, found: _Found) -> None:
        """Read the rest of the items of a few events, whose borders are found first."""
        starts: list[int] = []
        ends: list[int] = []
        each = np.zeros(len(rows), np.int64)
        broken = np.zeros(len(events), np.bool_)
        for index, row in enumerate(rows.tolist()):
            before, end = len(starts), int(events.end[row])
            try:
                events.at[row] = self._walk(events.view(end), int(events.at[row]), int(left[row]), starts, ends)
            except IndexError:
                # The item that could not be walked is also read: its reason is then known.
                broken[row] = True
                ends += [end] * (len(starts) - len(ends))
            each[index] = len(starts) - before
        owners = np.repeat(rows, each)
        # The end of an item, not of its event: a cursor that fails goes to its end, which the next item must follow.
        part = events.items(owners, np.array(starts, np.int64), np.array(ends, np.int64))
        found.append((owners, [node.read(part) for node in self.parts]))
        counts[rows] += each
        events.fail(broken, _BROKEN)

    def _walk(self, view: memoryview, at: int, left: int, starts: list[int], ends: list[int]) -> int:
        """The end of an array whose block has `left` more items; adds the borders of items to `starts` and `ends`."""
        walks = [node.walk for node in self.parts]
        while True:
            for _ in range(left):
                starts.append(at)
                for walk in walks:
                    at = walk(view, at)
                if at > len(view):
                    raise IndexError(_BROKEN)
                ends.append(at)
            left, at = block_items(view, at)
            if not left:
                return at


def _block_items(events: Events) -> Numbers:
    """The number of items in each event's next block; after a negative number comes the block's size in bytes."""
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
