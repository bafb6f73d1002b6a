"""Checks of arguments when an operator is made: a mistake stops a DAG from being parsed, and not its runs.

What a template or another task gives is not known then: operators check it when they run, before they connect.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeVar

from aiopravega.names import StreamName, check_name
from airflow_pravega.task_failures import failing_for_good
from airflow_pravega.templated_values import choice_of

E = TypeVar("E", bound=StrEnum)
_TEMPLATE_MARKS: Final = ("{{", "{%", "{#")
# Stands for the connection's default scope, which is known when the task runs.
_SOME_SCOPE: Final = "scope"


def check_known(value: object, check: Callable[[str], object]) -> None:
    """Check a text, unless a template or another task gives it later.

    Raises:
        AirflowFailException: the check does not pass. Also a mapped task, which is made when it runs, is not tried
            again then.
    """
    if isinstance(value, str) and not any(mark in value for mark in _TEMPLATE_MARKS):
        with failing_for_good():
            check(value)


def check_stream(value: object) -> None:
    """Check the name of a stream, with or without its scope: see `check_known`."""
    check_known(value, lambda text: StreamName.parse(text, _SOME_SCOPE))


def check_word(kind: str, value: object) -> None:
    """Check a name of a kind, such as `scope`: see `check_known`."""
    check_known(value, lambda text: check_name(kind, text))


def check_choice(kind: type[E], name: str, value: object) -> None:
    """Check one of the texts of an enumeration: see `check_known`."""
    check_known(value, lambda text: choice_of(kind, name, text))
