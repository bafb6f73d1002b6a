"""Takes the envelope `{"schema":…,"payload":…}` off events that have one, without parsing it event by event.

Debezium writes the schema first, and always the same text until the table changes. So the text in front of the payload
is parsed once; other events that begin with the same bytes have the same schema, and these bytes are cut off.
Envelopes in another spelling (blanks, the payload first) are parsed one by one.
"""

import json
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Numbers, mask_of, pick, values_of
from pravega_jobs.debezium.changes.connect import Meaning, row_of
from pravega_jobs.debezium.changes.spellings import UNREADABLE, Opened, take_apart

_BEGIN: Final = b'{"schema":'
_BETWEEN: Final = ',"payload":'
_END: Final = b"}"
_TO_THE_LAST: Final = -1
# Schemas that are kept at a time; a table has one until it changes.
_MOST_KEPT: Final = 32
# The beginning of an envelope in any spelling.
_ANY_BEGIN: Final = r'^\s*\{\s*"(schema|payload)"\s*:'


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text before the payload, and the columns of the table by its schema; None for events without a table."""

    text: bytes
    columns: dict[str, Meaning] | None


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events without their envelopes, all of one schema; `rows` has their positions in the block."""

    rows: Numbers
    payloads: pa.BinaryArray
    columns: dict[str, Meaning] | None = None
    has_schema: bool = False


class Opener(Protocol):
    """Takes the envelopes off change events."""

    def open(self, events: pa.BinaryArray) -> tuple[list[EventGroup], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event that cannot be opened."""


class Envelopes:
    """Takes envelopes off, and remembers their schemas from block to block."""

    def __init__(self) -> None:
        self._known: list[Prefix] = []

    def open(self, events: pa.BinaryArray) -> tuple[list[EventGroup], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event whose envelope is malformed."""
        beginning = mask_of(pc.match_substring_regex(events, _ANY_BEGIN))
        groups, bad = [], {}
        if not beginning.all():
            rows = np.flatnonzero(~beginning)
            groups.append(EventGroup(rows, events if len(rows) == len(events) else pick(events, rows)))
        usual = mask_of(_starts(events, _BEGIN)) & mask_of(pc.ends_with(events, _END))
        waiting = np.flatnonzero(usual)
        others = np.flatnonzero(beginning & ~usual).tolist()
        tried = 0
        while len(waiting):
            if tried == len(self._known):
                prefix = self._learn(events[int(waiting[0])].as_py())
                if prefix is None:
                    others.append(int(waiting[0]))
                    waiting = waiting[1:]
                    continue
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
            payloads = pc.binary_slice(chosen, len(prefix.text), _TO_THE_LAST)
            groups.append(EventGroup(waiting[same], payloads, prefix.columns, has_schema=True))
            waiting = waiting[~same]
        del self._known[:-_MOST_KEPT]
        spelled, malformed = _one_by_one(events, sorted(others))
        return groups + spelled, bad | malformed

    def _learn(self, event: bytes) -> Prefix | str | None:
        """Parse the text before the payload of one event; None: it is spelled in another way.

        Returns the reason if its schema cannot be read.
        """
        try:
            text = event.decode()
            schema, end = json.JSONDecoder().raw_decode(text, len(_BEGIN))
        except (UnicodeDecodeError, ValueError, RecursionError):
            return None
        if not text.startswith(_BETWEEN, end):
            return None
        try:
            columns = row_of(schema)
        except ConfigurationError as error:
            return UNREADABLE.format(error)
        prefix = Prefix(text[: end + len(_BETWEEN)].encode(), columns)
        self._known.append(prefix)
        return prefix


def _one_by_one(events: pa.BinaryArray, rows: list[int]) -> tuple[list[EventGroup], dict[int, str]]:
    """Events in any spelling, in groups of one schema each, and the reason for each that is malformed."""
    opened = {row: take_apart(events[row].as_py()) for row in rows}
    by_schema: dict[str, dict[int, Opened]] = {}
    for row, one in opened.items():
        if isinstance(one, Opened):
            by_schema.setdefault(one.schema, {})[row] = one
    groups = []
    for found in by_schema.values():
        payloads = values_of([one.payload for one in found.values()], pa.binary())
        columns = next(iter(found.values())).columns
        groups.append(EventGroup(np.array(list(found), np.int64), payloads, columns, has_schema=True))
    return groups, {row: why for row, why in opened.items() if isinstance(why, str)}


def _starts(events: pa.BinaryArray, prefix: bytes) -> pa.BooleanArray:
    return pc.starts_with(events, prefix)
