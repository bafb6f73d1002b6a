"""Arguments of operators: checked when an operator is made, read as values when its task runs.

A mistake that is known early stops a DAG from being parsed, and not its runs. The value of a template or of another
task is known when the task runs: operators check it then, before they connect.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeGuard, TypeVar

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName, check_name
from aiopravega.positions import NamedCut, Position, parse_position
from airflow_pravega.tasks.failures import failing_for_good

E = TypeVar("E", bound=StrEnum)
EARLIEST = NamedCut.HEAD.value
LATEST = NamedCut.TAIL.value
_TEMPLATE_MARKS: Final = ("{{", "{%", "{#")
# Stands for the connection's default scope, which is known when the task runs.
_SOME_SCOPE: Final = "scope"


def is_known(value: object) -> TypeGuard[str]:
    """Return True if a value is a text that neither a template nor another task gives later."""
    return isinstance(value, str) and not any(mark in value for mark in _TEMPLATE_MARKS)


def check_known(value: object, check: Callable[[str], object]) -> None:
    """Check a text, unless a template or another task gives it later.

    Raises:
        AirflowFailException: the check fails. A mapped task, which is made when it runs, is then not tried again.
    """
    if is_known(value):
        with failing_for_good():
            check(value)


def known_texts(values: object) -> Sequence[str]:
    """The texts of a list that neither a template nor another task gives later; a single text as it is."""
    if isinstance(values, str):
        return values
    return [each for each in values if is_known(each)] if isinstance(values, list | tuple) else []


def check_stream(value: object) -> None:
    """Check the name of a stream, with or without its scope: see `check_known`."""
    check_known(value, lambda text: StreamName.parse(text, _SOME_SCOPE))


def check_word(kind: str, value: object) -> None:
    """Check a name of a kind, such as `scope`: see `check_known`."""
    check_known(value, lambda text: check_name(kind, text))


def check_choice(kind: type[E], name: str, value: object) -> None:
    """Check one of the texts of an enumeration: see `check_known`."""
    check_known(value, lambda text: choice_of(kind, name, text))


def position_of(value: object, stream: StreamName) -> Position:
    """Read a position in a stream: `earliest`, `latest`, the text of a cut, or a range, which stands for its end.

    Raises:
        ConfigurationError: the value is of another type.
        InvalidStreamCutError: the text is not a cut, or the cut is of another stream.
    """
    text = value.get("end") if isinstance(value, Mapping) else value
    if not isinstance(text, str):
        raise ConfigurationError(
            f"a position in {stream} cannot be {text!r}: give {EARLIEST}, {LATEST}, the text of a StreamCut, or a "
            "range with the texts start and end"
        )
    return parse_position(text, stream)


def time_of(name: str, value: object) -> datetime:
    """Read a time that has a zone.

    Raises:
        ConfigurationError: the value is not a time, or has no zone.
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


def in_order(values: Iterable[str]) -> list[str]:
    """Values as a list; a set is sorted, since its order differs between processes, and so would the DAG."""
    return sorted(values) if isinstance(values, AbstractSet) else list(values)


def whole_number(name: str, value: object) -> int:
    """Read a whole number of at least 0.

    Raises:
        ConfigurationError: the value is not such a number.
    """
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigurationError(f"{name} is {value!r}, but must be a whole number of at least 0")
    return number


def optional_number(name: str, value: object) -> int | None:
    """Read a whole number of at least 0; None if the value is missing or empty.

    Raises:
        ConfigurationError: the value is something else.
    """
    return None if value in (None, "") else whole_number(name, value)


def choice_of(kind: type[E], name: str, value: object) -> E:
    """Read one of the texts of an enumeration.

    Raises:
        ConfigurationError: the enumeration does not have the text.
    """
    try:
        return kind(str(value))
    except ValueError:
        choices = ", ".join(repr(each.value) for each in kind)
        raise ConfigurationError(f"{name} is {value!r}, but must be one of {choices}") from None
