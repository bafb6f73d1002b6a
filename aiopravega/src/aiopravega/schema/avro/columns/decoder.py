"""Payloads in Avro into columns."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import pick
from aiopravega.schema.arrow.block import DecodedBlock, good_rows
from aiopravega.schema.avro.columns.compound import Fields
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.nodes import Node
from aiopravega.schema.avro.columns.reading import node_of
from aiopravega.schema.avro.limits import written_limits
from aiopravega.schema.avro.model import AvroType, Record, label_of
from aiopravega.schema.avro.plan import problem_of
from aiopravega.schema.avro.resolution import resolve

# Enough to make the cost of a step in Python small, and few enough for its arrays to stay in the processor's cache.
_EVENTS: Final = 20_000


def decoder_of(reader: AvroType, writer: AvroType) -> "AvroDecoder":
    """The decoder of events of a writer's schema into the columns of the reader's, which can be columns.

    Raises:
        ConfigurationError: data of the writer's schema can never be read with the reader's, or cannot be columns.
    """
    step = resolve(reader, writer).step
    if problem := problem_of(step):
        raise ConfigurationError(f"its Avro schema does not fit the one that is read with: {problem}")
    for limit in written_limits(step, label_of(writer)):
        raise ConfigurationError(f"its Avro schema cannot be columns: {limit.problem}: read it raw")
    return AvroDecoder(node_of(step), is_record=isinstance(reader, Record))


class AvroDecoder:
    """Decodes datums of one writer's schema.

    Args:
        node: reads a whole event.
        is_record: True if the fields of the value are the columns; False if the value is the only column.
    """

    def __init__(self, node: Node, *, is_record: bool) -> None:
        self._node = node
        self._is_record = is_record

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The columns of the reader's schema."""
        bad: dict[int, str] = {}
        parts = []
        for first in range(0, len(payloads), _EVENTS) or (0,):
            columns, failures = self._decode(payloads.slice(first, _EVENTS))
            parts.append(columns)
            bad |= {first + row: why for row, why in failures.items()}
        return DecodedBlock([pa.concat_arrays(column) for column in zip(*parts, strict=True)], bad)

    def trim(self, payload: bytes) -> bytes:
        """The same payload: zeros at the end are ignored."""
        return payload

    def _decode(self, payloads: pa.BinaryArray) -> tuple[list[pa.Array], dict[int, str]]:
        events = Events.of(payloads)
        columns = self._columns(events)
        events.check_finished()
        bad = events.failures()
        if bad:
            columns = [pick(column, good_rows(len(payloads), bad)) for column in columns]
        return columns, bad

    def _columns(self, events: Events) -> list[pa.Array]:
        if self._is_record and isinstance(self._node, Fields):
            return self._node.columns(events)
        value = self._node.read(events)
        return value.flatten() if self._is_record else [value]
