"""Conditions of a sensor, read from its arguments once they are rendered.

The type of a field of `MoveCondition` says how the argument of the same name is read, so that a new condition of a
known type needs no line here.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition, WriterTime
from aiopravega.times import TimeUnit
from airflow_pravega.tasks.arguments import choice_of, optional_number, time_of


def condition_of(arguments: object, unit: str) -> MoveCondition:
    """Read the conditions of a sensor.

    Args:
        arguments: the sensor; it has an attribute for each field of `MoveCondition`.
        unit: the unit in which the stream's writers count event times: `ns`, `us`, `ms` or `s`.

    Raises:
        ConfigurationError: an argument, or all of them together, cannot work.
        InvalidStreamCutError: the text of a cut is not valid.
    """
    given = {each.name: (each.type, getattr(arguments, each.name)) for each in fields(MoveCondition)}
    return MoveCondition(**{name: _READERS[kind](name, value, unit) for name, (kind, value) in given.items()})


def _number(name: str, value: object, _: str) -> int:
    return optional_number(name, value) or 0


def _optional_number(name: str, value: object, _: str) -> int | None:
    return optional_number(name, value)


def _seconds(name: str, value: object, _: str) -> float:
    if not isinstance(value, timedelta):
        raise ConfigurationError(f"{name} is {value!r}, but must be a timedelta")
    return value.total_seconds()


def _flag(_: str, value: object, __: str) -> bool:
    return bool(value)


def _optional_text(_: str, value: object, __: str) -> str | None:
    return str(value) if value else None


def _optional_cut(name: str, value: object, _: str) -> StreamCut | None:
    text = value.get("end") if isinstance(value, Mapping) else value
    if text in (None, ""):
        return None
    if not isinstance(text, str):
        raise ConfigurationError(f"{name} cannot be {value!r}: give the text of a StreamCut, or a range")
    return StreamCut.from_text(text)


def _optional_time(name: str, value: object, unit: str) -> int | None:
    return None if value in (None, "") else TimeUnit.parse(unit).first_number(time_of(name, value))


def _combine(name: str, value: object, _: str) -> Combine:
    return choice_of(Combine, name, value)


_READERS: Final[Mapping[object, Callable[[str, object, str], Any]]] = {
    int: _number,
    int | None: _optional_number,
    float: _seconds,
    bool: _flag,
    str | None: _optional_text,
    StreamCut | None: _optional_cut,
    WriterTime | None: _optional_time,
    Combine: _combine,
}
