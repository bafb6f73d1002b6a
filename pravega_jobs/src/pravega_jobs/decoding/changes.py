"""Change events of Debezium in a read: a plan from the driver, and decoders that account for every event."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.names import SegmentId, StreamName
from aiopravega.schema.registry.model import SchemaFormat
from pravega_jobs.debezium.changes.canal import CanalEnvelopes
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.envelope import Opener
from pravega_jobs.debezium.changes.options import Changes
from pravega_jobs.debezium.changes.plan import ChangePlan
from pravega_jobs.debezium.changes.registered.envelopes import RegisteredEnvelopes
from pravega_jobs.debezium.changes.registered.texts import ChangeTexts
from pravega_jobs.decoding.failures import Failures
from pravega_jobs.decoding.options import OnError
from pravega_jobs.decoding.plan import Decoded
from pravega_jobs.decoding.registries import Registered

logger = logging.getLogger(__name__)
_FORM: Final = "a change event of Debezium"
_OF_CANAL: Final = "a change event of Canal"


@dataclass(frozen=True, slots=True)
class ChangesPlan:
    """The plan by which change events become rows.

    `schema_of_events` is the schema that the events carry, as JSON; None if the user gave a schema, or the columns.
    `source` has the groups of the registry with the schemas of headers; None if the events have no headers. `by_canal`:
    the events are Canal's.
    """

    plan: ChangePlan
    on_error: OnError
    schema_of_events: str | None = None
    source: "RegisteredChanges | None" = None
    by_canal: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.plan.schema

    @property
    def kept(self) -> str | None:
        """The column of events that cannot be decoded; None: they have no rows."""
        return self.on_error.kept

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same columns, although the table has changed since."""
        registered = self.source.registered.pinned if self.source else {}
        text = self.schema_of_events
        return registered if text is None else registered | {"schema_text": text}

    def decoder(self) -> "ChangesDecoder":
        """A decoder for one task."""
        return ChangesDecoder(self)


@dataclass(frozen=True, slots=True)
class RegisteredChanges:
    """The schemas of change events with headers: the groups of the streams, and the events' format."""

    registered: Registered
    texts: ChangeTexts

    def opener(self, stream: StreamName) -> RegisteredEnvelopes:
        """A reader of the envelopes of a stream's events."""
        form = self.texts.form
        # Events of several tables have several types; only a message of Protobuf cannot be read without its name.
        type_name = self.registered.type if form is SchemaFormat.PROTOBUF else None
        deserializer = self.registered.deserializer(stream, self.texts, type_name)
        return RegisteredEnvelopes(deserializer.decode, self.registered.encoding_of(stream), form)


class ChangesDecoder:
    """Decodes the change events of one task."""

    def __init__(self, plan: ChangesPlan) -> None:
        self._inner = ChangeDecoder(plan.plan)
        form = _OF_CANAL if plan.by_canal else _FORM
        self._failures = Failures(plan.on_error, form, has_headers=plan.source is not None)
        self._left_out: Counter[str] = Counter()
        self._reported: set[str] = set()
        self._source = plan.source
        self._openers: dict[StreamName, Opener] = {}
        self._canal: CanalEnvelopes | None = None
        if plan.by_canal:
            options = plan.plan.options
            key = options.key if options.changes is Changes.UPSERT else None
            self._canal = CanalEnvelopes(plan.plan.table, key)

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The rows of some events of a segment; `offsets` has the offset of each event, in bytes.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            ConfigurationError: the events need an option; the message names it.
            PravegaError: the registry does not answer.
        """
        block = self._inner.decode(events, offsets, segment.epoch, self._opener(segment.stream))
        self._left_out.update(block.left_out)
        new = self._inner.new_columns - self._reported
        if new:
            self._reported |= new
            logger.warning(
                "%s: the table has columns that the read does not have: %s; see option new_columns",
                segment,
                ", ".join(sorted(new)),
            )
        return self._failures.apply(block.columns, block.taken, block.bad, events, offsets, segment)

    def bad(self, events: pa.BinaryArray, segment: SegmentId) -> Mapping[int, str]:
        """The events that cannot be decoded, by their numbers, with the reasons; the rule `on_error` is not asked.

        Raises:
            PravegaError: the registry does not answer.
        """
        offsets = np.zeros(len(events), np.int64)  # they only order the rows
        return self._inner.decode(events, offsets, segment.epoch, self._opener(segment.stream)).bad

    def _opener(self, stream: StreamName) -> Opener | None:
        if self._source is not None and stream not in self._openers:
            self._openers[stream] = self._source.opener(stream)
        return self._openers.get(stream, self._canal)

    def add(self, other: Self) -> None:
        """Count what another decoder of the same plan has counted."""
        self._left_out.update(other._left_out)
        self._failures.add(other._failures)

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task the number of events without a row, by their kind, and of dropped events."""
        if self._left_out:
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self._left_out.items()))
            logger.warning("%s: left out %d events without a row: %s", segment, self._left_out.total(), counts)
        self._failures.finish(segment)
