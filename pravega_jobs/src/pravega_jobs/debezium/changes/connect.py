"""Schemas of Kafka Connect, as Debezium writes them around events: the meaning of each column.

A schema has a column's base type (`int64`, `bytes`, …) and, by a name such as `io.debezium.time.MicroTimestamp`, the
meaning of its values. `meanings` derives the types of a table from both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.errors import ConfigurationError

_UNSIGNED: Final = "UNSIGNED"
SOURCE_TYPE: Final = "__debezium.source.column.type"
PRECISION: Final = "connect.decimal.precision"
_IMAGES: Final = ("after", "before")
_SCHEMA, _PAYLOAD = "schema", "payload"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a column's values: Connect's base type, the name of the meaning, and the parts of the values."""

    base: str
    name: str = ""
    scale: int = 0
    precision: int | None = None
    unsigned: bool = False
    items: "Meaning | None" = None
    fields: tuple[tuple[str, "Meaning"], ...] = ()


Meanings = Mapping[str, Meaning]


def meaning_of(schema: Mapping[str, Any]) -> Meaning:
    """The meaning of one of Connect's schemas.

    Raises:
        ConfigurationError: it is not a schema of Connect.
    """
    try:
        parameters = schema.get("parameters") or {}
        precision = parameters.get(PRECISION)
        return Meaning(
            base=str(schema["type"]),
            name=str(schema.get("name") or ""),
            scale=int(parameters.get("scale", 0)),
            precision=None if precision is None else int(precision),
            unsigned=_UNSIGNED in str(parameters.get(SOURCE_TYPE, "")).upper(),
            items=meaning_of(schema["items"]) if "items" in schema else None,
            fields=tuple((str(field["field"]), meaning_of(field)) for field in schema.get("fields", ())),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"it is not a schema of Kafka Connect: {error!r}") from None


def row_of(schema: Any) -> dict[str, Meaning] | None:
    """The columns of a table, by the schema of its change events; None for the schema of other events.

    Raises:
        ConfigurationError: it is not a schema of Connect.
    """
    parts = _parts_of(schema)
    images = [parts[name] for name in _IMAGES if name in parts and parts[name].base == "struct"]
    return dict(images[0].fields) if images else None


def schema_in(text: bytes | str) -> dict[str, Meaning]:
    """The columns in a text: an event with its schema, or a schema of Connect.

    Raises:
        ConfigurationError: the text has no columns of a table.
    """
    try:
        document = json.loads(text)
    except ValueError:
        raise ConfigurationError(f"it is not JSON: {text[:200]!r}") from None
    if isinstance(document, dict) and _PAYLOAD in document:
        if not isinstance(document.get(_SCHEMA), dict):
            raise ConfigurationError("it is an event without its schema: write one with schemas.enable=true")
        document = document[_SCHEMA]
    parts = _parts_of(document)
    found = row_of(document) or (None if _is_other(parts) else parts)
    if not found:
        raise ConfigurationError(
            "it is neither one event with its schema nor a schema of Kafka Connect with the columns of a table"
        )
    return found


def _parts_of(schema: Any) -> dict[str, Meaning]:
    if not isinstance(schema, Mapping) or schema.get("type") != "struct":
        return {}
    return dict(meaning_of(schema).fields)


def _is_other(parts: Mapping[str, Meaning]) -> bool:
    """True if a struct is of an event without images: a message, a transaction, a change of the schema."""
    return "message" in parts or "ddl" in parts or {"status", "data_collections"} <= set(parts)
