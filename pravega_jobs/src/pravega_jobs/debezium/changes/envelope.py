"""Takes the envelope `{"schema":…,"payload":…}` off events that have one, without parsing it event by event.

Debezium writes the schema first, and always the same text until the table changes. So the text in front of the payload
is parsed once; other events that begin with the same bytes have the same schema, and these bytes are cut off.
"""

import json
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Numbers, mask_of, pick
from pravega_jobs.debezium.changes.connect import Meaning, row_of

_BEGIN: Final = b'{"schema":'
_BETWEEN: Final = ',"payload":'
_END: Final = b"}"
_TO_THE_LAST: Final = -1
# Schemas that are kept at a time; a table has one until it changes.
_MOST_KEPT: Final = 32
_MALFORMED: Final = "it begins as an event with its schema, but has no payload after the schema"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text before the payload, and the columns of the table by its schema; None for events without a table."""

    text: bytes
    columns: dict[str, Meaning] | None


@dataclass(frozen=True, slots=True)
class Group:
    """Events without their envelopes, all of one schema; `rows` has their positions in the block."""

    rows: Numbers
    payloads: pa.BinaryArray
    columns: dict[str, Meaning] | None = None
    has_schema: bool = False


class Opener(Protocol):
    """Takes the envelopes off change events."""

    def open(self, events: pa.BinaryArray) -> tuple[list[Group], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event that cannot be opened."""


class Envelopes:
    """Takes envelopes off, and remembers their schemas from block to block."""

    def __init__(self) -> None:
        self._known: list[Prefix] = []

    def open(self, events: pa.BinaryArray) -> tuple[list[Group], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event whose envelope is malformed."""
        enclosed = mask_of(_starts(events, _BEGIN))
        groups, bad = [], {}
        if not enclosed.all():
            rows = np.flatnonzero(~enclosed)
            groups.append(Group(rows, events if len(rows) == len(events) else pick(events, rows)))
        waiting = np.flatnonzero(enclosed)
        tried = 0
        while len(waiting):
            if tried == len(self._known):
                prefix = self._learn(events[int(waiting[0])].as_py())
                if isinstance(prefix, str):
                    bad[int(waiting[0])] = prefix
                    waiting = waiting[1:]
                    continue
            prefix = self._known[tried]
            tried += 1
            whole = len(waiting) == len(events)
            candidates = events if whole else pick(events, waiting)
            same = mask_of(_starts(candidates, prefix.text))
            if not same.any():
                continue
            chosen = candidates if same.all() else pick(candidates, np.flatnonzero(same))
            closed = mask_of(pc.ends_with(chosen, _END))
            rows = waiting[same]
            bad |= dict.fromkeys(rows[~closed].tolist(), _MALFORMED)
            if not closed.all():
                rows, chosen = rows[closed], pick(chosen, np.flatnonzero(closed))
            payloads = pc.binary_slice(chosen, len(prefix.text), _TO_THE_LAST)
            groups.append(Group(rows, payloads, prefix.columns, has_schema=True))
            waiting = waiting[~same]
        del self._known[:-_MOST_KEPT]
        return groups, bad

    def _learn(self, event: bytes) -> Prefix | str:
        """Parse the text before the payload of one event; return the reason if it cannot be parsed."""
        try:
            text = event.decode()
            schema, end = json.JSONDecoder().raw_decode(text, len(_BEGIN))
        except (UnicodeDecodeError, ValueError, RecursionError):
            return _MALFORMED
        if not text.startswith(_BETWEEN, end):
            return _MALFORMED
        try:
            columns = row_of(schema)
        except ConfigurationError as error:
            return f"its schema cannot be read: {error}"
        prefix = Prefix(text[: end + len(_BETWEEN)].encode(), columns)
        self._known.append(prefix)
        return prefix


def _starts(events: pa.BinaryArray, prefix: bytes) -> pa.BooleanArray:
    return pc.starts_with(events, prefix)
