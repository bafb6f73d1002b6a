"""Takes headers off change events, makes their payloads Debezium's JSON, and finds their columns."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import pick
from aiopravega.schema.arrow.block import DecodedBlock, good_rows
from aiopravega.schema.arrow.envelope import NO_HEADER, encoding_ids
from aiopravega.schema.open.blocks.targets import target_of
from aiopravega.schema.registry.model import Encoding, SchemaFormat, SchemaInfo
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.envelope import Envelopes, EventGroup
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import AFTER, BEFORE
from pravega_jobs.debezium.changes.registered.avro_meanings import avro_row


class RegisteredEnvelopes:
    """Opens events of one group of a registry; used instead of `Envelopes`.

    Args:
        texts: the JSON of each event of a block, as by a `BlockDeserializer` with `ChangeTexts`.
        encoding_of: gives the schema and the codec of an encoding id.
        form: of the payloads.
    """

    def __init__(
        self,
        texts: Callable[[pa.BinaryArray], DecodedBlock],
        encoding_of: Callable[[int], Encoding],
        form: SchemaFormat,
    ) -> None:
        self._texts = texts
        self._encoding_of = encoding_of
        self._form = form
        self._inside = Envelopes()
        self._known: dict[int, dict[str, Meaning] | str | None] = {}

    def open(self, events: pa.BinaryArray) -> tuple[list[EventGroup], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event that cannot be opened.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        ids = encoding_ids(events)
        block = self._texts(events)
        bad = dict(block.bad)
        rows, [texts] = good_rows(len(events), bad), block.columns
        if self._form is not SchemaFormat.AVRO:
            groups, unopened = self._inside.open(texts) if len(rows) else ([], {})
            bad |= {int(rows[row]): why for row, why in unopened.items()}
            return [EventGroup(rows[one.rows], one.payloads, one.columns, one.has_schema) for one in groups], bad
        opened = []
        for encoding_id in np.unique(ids[rows]).tolist():
            chosen = np.flatnonzero(ids[rows] == encoding_id)
            columns = self._row(encoding_id)
            if isinstance(columns, str):
                bad |= dict.fromkeys(rows[chosen].tolist(), columns)
            else:
                opened.append(EventGroup(rows[chosen], pick(texts, chosen), columns, has_schema=True))
        return opened, bad

    def _row(self, encoding_id: int) -> dict[str, Meaning] | str | None:
        """The columns of the table by a writer's schema, or the reason for which they are not known."""
        assert encoding_id != NO_HEADER  # in Avro such an event cannot be decoded
        if encoding_id not in self._known:
            try:
                self._known[encoding_id] = avro_row(self._encoding_of(encoding_id).schema_info.schema_data)
            except ConfigurationError as error:
                self._known[encoding_id] = f"its schema cannot be read: {error}"
        return self._known[encoding_id]


def table_columns(schema: SchemaInfo) -> pa.Schema:
    """The columns of a table, by the schema that the registry has for its change events.

    An Avro schema has Connect's names, which give the meaning of numbers and bytes. Protobuf and JSON Schema do not
    have them: there, times are the numbers that Debezium writes.

    Raises:
        ConfigurationError: the schema is not a schema of change events, or a column has a type that is not known.
    """
    if schema.format is SchemaFormat.AVRO:
        row = avro_row(schema.schema_data)
        if row:
            return columns_of(row)
    else:
        event = target_of(schema).schema
        for name in (AFTER, BEFORE):
            if name in event.names and pa.types.is_struct(event.field(name).type):
                return pa.schema(list(event.field(name).type))
    raise ConfigurationError(
        f"the schema {schema.type} ({schema.name_of_format}) has no record after or before with the columns of a "
        "table, as change events of Debezium have: choose another one with option 'schema_type', or give the columns "
        "with .schema(…)"
    )
