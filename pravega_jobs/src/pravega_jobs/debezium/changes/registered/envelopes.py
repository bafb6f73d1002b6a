"""Takes headers off change events, makes their payloads Debezium's JSON, and finds their columns."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import pick
from aiopravega.schema.arrow.block import DecodedBlock, good_rows
from aiopravega.schema.arrow.envelope import NO_HEADER, encoding_ids
from aiopravega.schema.registry.model import Encoding, SchemaFormat
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.envelope import Envelopes, Group
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

    def open(self, events: pa.BinaryArray) -> tuple[list[Group], dict[int, str]]:
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
            return [Group(rows[one.rows], one.payloads, one.columns, one.has_schema) for one in groups], bad
        found = []
        for encoding_id in np.unique(ids[rows]).tolist():
            chosen = np.flatnonzero(ids[rows] == encoding_id)
            columns = self._row(encoding_id)
            if isinstance(columns, str):
                bad |= dict.fromkeys(rows[chosen].tolist(), columns)
            else:
                found.append(Group(rows[chosen], pick(texts, chosen), columns, has_schema=True))
        return found, bad

    def _row(self, encoding_id: int) -> dict[str, Meaning] | str | None:
        """The columns of the table by a writer's schema, or the reason for which they are not known."""
        assert encoding_id != NO_HEADER  # in Avro such an event cannot be decoded
        if encoding_id not in self._known:
            try:
                self._known[encoding_id] = avro_row(self._encoding_of(encoding_id).schema_info.schema_data)
            except ConfigurationError as error:
                self._known[encoding_id] = f"its schema cannot be read: {error}"
        return self._known[encoding_id]
