"""What a user may choose about change events, and the names of what comes out."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Changes(StrEnum):
    """Which rows an event becomes: one per change, Flink's pairs of images, or the images as structs."""

    UPSERT = "upsert"
    ROWS = "rows"
    ENVELOPE = "envelope"


class NewColumns(StrEnum):
    """What to do with a column of the table that the read does not have."""

    IGNORE = "ignore"
    FAIL = "fail"
    REST = "rest"


class Truncates(StrEnum):
    """What to do with an event that says that the table was emptied."""

    ROW = "row"
    FAIL = "fail"
    DROP = "drop"


class BeforeImage(StrEnum):
    """What `before` holds: the whole row, or the key and placeholders. `AUTO` goes by the connector."""

    AUTO = "auto"
    FULL = "full"
    KEY = "key"


class TimePrecision(StrEnum):
    """What numbers count that are times, where no schema says it."""

    ADAPTIVE = "adaptive"
    MS = "ms"
    US = "us"


class Decimals(StrEnum):
    """How texts that are decimals are written, where no schema says it."""

    ADAPTIVE = "adaptive"
    BASE64 = "base64"
    DIGITS = "digits"


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """How change events become rows.

    `key` has the names of the columns that identify a row, `table` the only table whose events are taken. With
    `infinity_is_null`, an infinite date or time, which no column can hold, is null; else its event is malformed.
    """

    changes: Changes = Changes.UPSERT
    key: tuple[str, ...] = ()
    table: str | None = None
    new_columns: NewColumns = NewColumns.IGNORE
    truncates: Truncates = Truncates.ROW
    before_image: BeforeImage = BeforeImage.AUTO
    time_precision: TimePrecision = TimePrecision.ADAPTIVE
    decimals: Decimals = Decimals.ADAPTIVE
    infinity_is_null: bool = False


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """How rows become change events.

    `changes` says which rows there are, None: their columns say it. `key` has the columns that identify a row, `table`
    the name that events have in their `source`, with the schema, or the database and the schema in front.
    `with_schemas` puts the schema into each event. `time_precision` and `decimals` are for values that no schema
    explains: `ADAPTIVE` is microseconds, and digits without schemas.
    """

    changes: Changes | None = None
    key: tuple[str, ...] = ()
    table: str | None = None
    with_schemas: bool = False
    time_precision: TimePrecision = TimePrecision.ADAPTIVE
    decimals: Decimals = Decimals.ADAPTIVE


BEFORE: Final = "before"
AFTER: Final = "after"
OP: Final = "op"
