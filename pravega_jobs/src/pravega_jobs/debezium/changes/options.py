"""Options of change events, and names of the columns of images."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Changes(StrEnum):
    """The rows of an event: one per change, Flink's pairs of images, or the images as structs."""

    UPSERT = "upsert"
    ROWS = "rows"
    ENVELOPE = "envelope"


class NewColumns(StrEnum):
    """Treatment of a column of the table that the read does not have."""

    IGNORE = "ignore"
    FAIL = "fail"
    REST = "rest"


class Truncates(StrEnum):
    """Treatment of an event that says that the table was emptied."""

    ROW = "row"
    FAIL = "fail"
    DROP = "drop"


class BeforeImage(StrEnum):
    """The content of `before`: the whole row, or the key and placeholders. `AUTO` depends on the connector."""

    AUTO = "auto"
    FULL = "full"
    KEY = "key"


class TimePrecision(StrEnum):
    """The unit of numbers that are times, where no schema gives it."""

    ADAPTIVE = "adaptive"
    MS = "ms"
    US = "us"


class Decimals(StrEnum):
    """The form of texts that are decimals, where no schema gives it."""

    ADAPTIVE = "adaptive"
    BASE64 = "base64"
    DIGITS = "digits"


# Debezium's own text for a large value that a change has not touched.
UNAVAILABLE: Final = "__debezium_unavailable_value"


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Options of a read of change events as rows.

    `key` has the names of the columns that identify a row, `table` the only table whose events are read. With
    `infinity_is_null`, an infinite date or time, which no column can hold, is null; without it, its event is malformed.
    `unavailable_placeholder` is the value of Debezium's setting `unavailable.value.placeholder`.
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
    unavailable_placeholder: str = UNAVAILABLE


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """Options of a write of rows as change events.

    `changes` is the form of the rows; None: it follows from their columns. `key` has the columns that identify a row.
    `table` is the name in the `source` of events, with the schema, or the database and the schema in front.
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
