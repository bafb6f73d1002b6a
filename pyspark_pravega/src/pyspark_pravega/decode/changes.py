"""Change events of Debezium as a read sees them: a plan from the driver, and decoders that account for every event."""

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from aiopravega.names import SegmentId, StreamName
from aiopravega.schema.registry.model import SchemaFormat
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.envelope import Opener
from pravega_jobs.debezium.changes.plan import ChangePlan
from pravega_jobs.debezium.changes.registered.envelopes import RegisteredEnvelopes
from pravega_jobs.debezium.changes.registered.texts import ChangeTexts
from pyspark_pravega.decode.decode_options import OnError
from pyspark_pravega.decode.decoder import Decoded
from pyspark_pravega.decode.failures import Failures
from pyspark_pravega.decode.typed import Registered

logger = logging.getLogger(__name__)
_FORM: Final = "a change event of Debezium"


@dataclass(frozen=True, slots=True)
class ChangesPlan:
    """How change events become rows; `schema` has the columns as Spark's types.

    `found` is the schema that was found in the events, as JSON; None if the user gave one, or the columns. `source`
    says where the schemas of headers are; None if the events have no headers.
    """

    plan: ChangePlan
    schema: StructType
    on_error: OnError
    found: str | None = None
    source: "RegisteredChanges | None" = None

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow's types."""
        return self.plan.schema

    @property
    def keeps_corrupt(self) -> bool:
        """Whether events that cannot be decoded become rows of nulls, with their bytes."""
        return self.on_error is OnError.NULL

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same columns, whatever the table has become since."""
        registered = self.source.registered.pinned if self.source else {}
        return registered if self.found is None else registered | {"schema_text": self.found}

    def decoder(self) -> "ChangesDecoder":
        """A decoder for one task."""
        return ChangesDecoder(self)


@dataclass(frozen=True, slots=True)
class RegisteredChanges:
    """What the headers of change events lead to: the groups of the streams, and the events' format."""

    registered: Registered
    texts: ChangeTexts

    def opener(self, stream: StreamName) -> RegisteredEnvelopes:
        """What opens the events of a stream."""
        form = self.texts.form
        # Events of several tables have several types; only a message of Protobuf cannot be read without its name.
        type_name = self.registered.type if form is SchemaFormat.PROTOBUF else None
        deserializer = self.registered.deserializer(stream, self.texts, type_name)
        return RegisteredEnvelopes(deserializer.decode, self.registered.encoding_of(stream), form)


class ChangesDecoder:
    """Decodes the change events of one task."""

    def __init__(self, plan: ChangesPlan) -> None:
        self._inner = ChangeDecoder(plan.plan)
        self._failures = Failures(plan.on_error, _FORM)
        self._left_out: Counter[str] = Counter()
        self._said: set[str] = set()
        self._source = plan.source
        self._openers: dict[StreamName, Opener] = {}

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The rows of some events of a segment, of which each lies at the offset (in bytes) that is given.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            ConfigurationError: the events need an option; the message says which.
            PravegaError: the registry cannot be asked.
        """
        block = self._inner.decode(events, offsets, segment.epoch, self._opener(segment.stream))
        self._left_out.update(block.left_out)
        new = self._inner.new_columns - self._said
        if new:
            self._said |= new
            logger.warning(
                "%s: the table has columns that the read does not have: %s; see option new_columns",
                segment,
                ", ".join(sorted(new)),
            )
        return self._failures.apply(block.columns, block.taken, block.bad, events, offsets, segment)

    def _opener(self, stream: StreamName) -> Opener | None:
        if self._source is not None and stream not in self._openers:
            self._openers[stream] = self._source.opener(stream)
        return self._openers.get(stream)

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task how many events had no row, by their kind, and how many were dropped."""
        if self._left_out:
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self._left_out.items()))
            logger.warning("%s: left out %d events without a row: %s", segment, self._left_out.total(), counts)
        self._failures.finish(segment)
