"""Forms of JSON events that differ between programs: texts of values, and fields that are not there."""

from dataclasses import dataclass
from enum import StrEnum


class MissingFields(StrEnum):
    """The rule for an event that lacks a field of the columns: the field is null, or the event is malformed."""

    NULL = "null"
    FAIL = "fail"


class TimestampFormat(StrEnum):
    """The text of a point in time: with a `T` before the time of day, as in ISO 8601, or a blank, as in SQL."""

    ISO = "iso"
    SQL = "sql"


class JsonDecimals(StrEnum):
    """The text of a decimal: a number, which may have an exponent, a number without one, or the same as a string."""

    NUMBER = "number"
    PLAIN = "plain"
    TEXT = "text"

    @property
    def is_number(self) -> bool:
        """True if the text is a number of JSON."""
        return self is not JsonDecimals.TEXT


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The texts that an encoder writes; the default is that of Spark's `to_json`."""

    timestamps: TimestampFormat = TimestampFormat.ISO
    decimals: JsonDecimals = JsonDecimals.NUMBER


TO_JSON = JsonForm()
