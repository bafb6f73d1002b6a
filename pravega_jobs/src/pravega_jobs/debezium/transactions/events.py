"""What change events of Debezium say about transactions: which one a change is of, and how many changes one has.

Debezium writes this with `provide.transaction.metadata=true`. Nothing here knows streams.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.errors import ConfigurationError, MalformedEventError

_CHANGES: Final = ("c", "u", "d", "t")
# Rows of a snapshot and messages are of no table's transaction.
_OTHERS: Final = ("r", "m")
# PostgreSQL's connector puts a position behind the transaction's number, another one into each event.
_WITH_POSITION: Final = re.compile(r"(\d+):\d+")
_LONGEST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row: its transaction, names that its table may have in Debezium, and its number in the table.

    The first change of a transaction to a table has the number 1.
    """

    transaction: str
    tables: tuple[str, ...]
    number: int


@dataclass(frozen=True, slots=True)
class End:
    """The end of a transaction: how many changes it has of each table."""

    transaction: str
    counts: dict[str, int]


def change_in(event: bytes) -> Change | None:
    """The change that an event is; None for snapshots, messages, heartbeats, and all that is no change of a row.

    Raises:
        MalformedEventError: it is not understood.
        ConfigurationError: the change does not say its transaction.
    """
    document = _document(event)
    op = document.get("op")
    if op in _OTHERS or (op is None and _is_known(document)):
        return None
    if op not in _CHANGES:
        raise _not_understood(event, f"its op is {op!r}" if op else "it has no op, as flattened events have none")
    transaction = document.get("transaction")
    if transaction is None:
        raise ConfigurationError(
            f"a change does not say its transaction: {_shown(event)}. Set "
            "debezium.source.provide.transaction.metadata=true in Debezium's settings, and begin after the changes "
            "that were written before"
        )
    try:
        source = document["source"]
        names = [source.get(part) for part in ("db", "schema", "table")]
        db, schema, table = (None if name is None else str(name) for name in names)
        number = transaction["data_collection_order"]
        if table is None or type(number) is not int or number < 1:
            raise ValueError("no table, or no number of the change")
        outer = [name for name in (schema or db, f"{db}.{schema}" if db and schema else None) if name]
        return Change(_name(transaction["id"]), tuple(f"{name}.{table}" for name in outer) or (table,), number)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _not_understood(event, f"its source and transaction have not the form of Debezium's ({error})") from None


def end_in(event: bytes) -> End | None:
    """The end of a transaction that an event is; None for its beginning, and for all other events.

    Raises:
        MalformedEventError: it is not understood.
    """
    document = _document(event)
    status = document.get("status")
    if status != "END":
        if status not in (None, "BEGIN"):
            raise _not_understood(event, f"its status is {status!r}")
        return None
    try:
        parts = document["data_collections"] or []
        return End(_name(document["id"]), {str(one["data_collection"]): int(one["event_count"]) for one in parts})
    except (KeyError, TypeError, ValueError) as error:
        raise _not_understood(event, f"it has not the form of the end of a transaction ({error!r})") from None


def _document(event: bytes) -> dict[str, Any]:
    if not event:  # a tombstone
        return {"ts_ms": None}
    try:
        document = json.loads(event)
    except (ValueError, RecursionError):
        raise _not_understood(event, "it is not JSON") from None
    if isinstance(document, dict) and "schema" in document and isinstance(document.get("payload"), dict):
        document = document["payload"]
    if not isinstance(document, dict):
        raise _not_understood(event, "it is not an object")
    return document


def _is_known(document: dict[str, Any]) -> bool:
    """Whether an event without an op is one that Debezium writes beside changes."""
    return (
        document.get("status") in ("BEGIN", "END")
        or "ddl" in document
        or document.keys() <= {"ts_ms", "ts_us", "ts_ns"}
    )


def _name(given: Any) -> str:
    text = str(given)
    found = _WITH_POSITION.fullmatch(text)
    return found[1] if found else text


def _shown(event: bytes) -> str:
    text = event.decode(errors="replace")
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _not_understood(event: bytes, why: str) -> MalformedEventError:
    return MalformedEventError(f"it is no event of Debezium that is understood here, since {why}: {_shown(event)}")
