"""Envelopes `{"schema":…,"payload":…}` in any spelling of JSON: blanks, line breaks, the payload first.

The payload stays as it was written, since numbers of JSON would lose digits.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.connect import Meaning, row_of

_PAYLOAD, _SCHEMA = "payload", "schema"
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_NO_JSON: Final = "it begins as an event with its schema, but is not JSON"
_NO_PAYLOAD: Final = "it begins as an event with its schema, but has no payload"
_MORE: Final = "it begins as an event with its schema, but has more beside the schema and the payload: {}"
UNREADABLE: Final = "its schema cannot be read: {}"


@dataclass(frozen=True, slots=True)
class Opened:
    """The payload of an event, the text of its schema, and the columns of the table by it; None without a table."""

    payload: bytes
    schema: str
    columns: dict[str, Meaning] | None


def take_apart(event: bytes) -> Opened | str:
    """Take the envelope off an event; a text is the reason why that cannot be done."""
    try:
        text = event.decode()
        members = _members(text)
    except (ValueError, RecursionError):
        return _NO_JSON
    more = sorted(members.keys() - {_SCHEMA, _PAYLOAD})
    if more:
        return _MORE.format(", ".join(more))
    if _PAYLOAD not in members:
        return _NO_PAYLOAD
    schema = members.get(_SCHEMA, "")
    try:
        columns = row_of(json.loads(schema)) if schema else None
    except ConfigurationError as error:
        return UNREADABLE.format(error)
    return Opened(members[_PAYLOAD].encode(), schema, columns)


def _members(text: str) -> dict[str, str]:
    """The members of an object, each as it is written.

    Raises:
        ValueError: it is not an object.
    """
    decoder, members = json.JSONDecoder(), {}
    at = _past(text, "{", 0)
    while True:
        name, at = decoder.raw_decode(text, at)
        start = _past(text, ":", at)
        _, end = decoder.raw_decode(text, start)
        members[name] = text[start:end]
        at = _after_blanks(text, end)
        if text[at : at + 1] != ",":
            break
        at = _past(text, ",", at)
    if _past(text, "}", at) != len(text):
        raise ValueError(text)
    return members


def _past(text: str, sign: str, at: int) -> int:
    """The position after a sign and the blanks around it."""
    at = _after_blanks(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(text)
    return _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
