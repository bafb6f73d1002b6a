"""Payloads in Avro into columns."""

from typing import Final

import pyarrow as pa

from aiopravega.schema.formats.arrays import pick
from aiopravega.schema.formats.avro.compound import Fields
from aiopravega.schema.formats.avro.events import Events
from aiopravega.schema.formats.block import Block, good_rows

# So many that what a step costs in Python is little, and so few that its arrays stay in the processor's cache.
_EVENTS: Final = 20_000


class AvroDecoder:
    """Decodes datums of one writer's schema, whose node is given."""

    def __init__(self, node: Fields) -> None:
        self._node = node

    def decode(self, payloads: pa.BinaryArray) -> Block:
        """The columns of the reader's schema."""
        bad: dict[int, str] = {}
        parts = []
        for first in range(0, len(payloads), _EVENTS) or (0,):
            columns, failures = self._decode(payloads.slice(first, _EVENTS))
            parts.append(columns)
            bad |= {first + row: why for row, why in failures.items()}
        return Block([pa.concat_arrays(column) for column in zip(*parts, strict=True)], bad)

    def trim(self, payload: bytes) -> bytes:
        """The same: zeros at the end do not disturb."""
        return payload

    def _decode(self, payloads: pa.BinaryArray) -> tuple[list[pa.Array], dict[int, str]]:
        events = Events.of(payloads)
        columns = self._node.columns(events)
        events.check_finished()
        bad = events.failures()
        if bad:
            columns = [pick(column, good_rows(len(payloads), bad)) for column in columns]
        return columns, bad
