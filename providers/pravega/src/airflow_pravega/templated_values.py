"""What templates and other tasks give to an operator, as values: positions in a stream, times, numbers."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.positions import NamedCut, Position, parse_position

E = TypeVar("E", bound=StrEnum)
EARLIEST = NamedCut.HEAD.value
LATEST = NamedCut.TAIL.value


def position_of(value: object, stream: StreamName) -> Position:
    """A position in a stream: `earliest`, `latest`, the text of a cut, or a range, which stands for its end.

    Raises:
        ConfigurationError: it is of another type.
        InvalidStreamCutError: it is not a cut, or one of another stream.
    """
    text = value.get("end") if isinstance(value, Mapping) else value
    if not isinstance(text, str):
        raise ConfigurationError(
            f"a position in {stream} cannot be {text!r}: give {EARLIEST}, {LATEST}, the text of a StreamCut, or a "
            "range with the texts start and end"
        )
    return parse_position(text, stream)


def time_of(name: str, value: object) -> datetime:
    """A time.

    Raises:
        ConfigurationError: it is not a time, or has no zone.
    """
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise ConfigurationError(
            f"{name} is {value!r}, but must be a time with its zone, such as 2013-01-01T00:00:00Z; a run without a "
            "logical date has no data interval"
        ) from None
    if time.utcoffset() is None:
        raise ConfigurationError(f"{name} is {time.isoformat()}, which has no zone: add it, such as Z for UTC")
    return time


def whole_number(name: str, value: object) -> int:
    """A number of at least 0.

    Raises:
        ConfigurationError: it is not.
    """
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigurationError(f"{name} is {value!r}, but must be a whole number of at least 0")
    return number


def optional_number(name: str, value: object) -> int | None:
    """A number of at least 0, or None if none is given.

    Raises:
        ConfigurationError: it is something else.
    """
    return None if value in (None, "") else whole_number(name, value)


def choice_of(kind: type[E], name: str, value: object) -> E:
    """One of the texts that an enumeration has.

    Raises:
        ConfigurationError: it is none of them.
    """
    try:
        return kind(str(value))
    except ValueError:
        choices = ", ".join(repr(each.value) for each in kind)
        raise ConfigurationError(f"{name} is {value!r}, but must be one of {choices}") from None
