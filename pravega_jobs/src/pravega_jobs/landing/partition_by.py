"""Partitions of a new table as users name them: a column, or in Iceberg a function of one.

departed, day(departed), bucket(16, id), truncate(4, airport)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Self

from aiopravega.errors import ConfigurationError

_CALL: Final = re.compile(r"\s*(\w+)\s*\(\s*(?:(\d+)\s*,)?\s*(.+?)\s*\)\s*")
_OF_TIMES: Final = ("year", "month", "day", "hour")
_WITH_NUMBERS: Final = ("bucket", "truncate")
_FORMS: Final = "a column, year(column), month(…), day(…), hour(…), bucket(number, column) or truncate(number, column)"


class Partitions(Enum):
    """The partitions that tables of a kind can have: none, by columns, or also by functions of columns."""

    NONE = auto()
    COLUMNS = auto()
    FUNCTIONS = auto()


@dataclass(frozen=True, slots=True)
class PartitionBy:
    """A column by whose values rows are split, or a function of it: `year`, `bucket` and others.

    `number`: of the buckets, or the width to which values are cut.
    """

    column: str
    function: str | None = None
    number: int | None = None

    def __str__(self) -> str:
        if self.function is None:
            return self.column
        return f"{self.function}({'' if self.number is None else f'{self.number}, '}{self.column})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """A partition from its text.

        Raises:
            ConfigurationError: the text has none of the forms.
        """
        call = _CALL.fullmatch(text)
        if call is None:
            if not text.strip():
                raise ConfigurationError(f"partition_by has an empty text: write {_FORMS}")
            return cls(text.strip())
        function, number, column = call.groups()
        takes_number = function in _WITH_NUMBERS
        if function not in (*_OF_TIMES, *_WITH_NUMBERS) or takes_number != (number is not None) or number == "0":
            raise ConfigurationError(f"partition_by has {text!r}: write {_FORMS}")
        return cls(column, function, int(number) if takes_number else None)


def partitions_of(given: Sequence[str]) -> tuple[PartitionBy, ...]:
    """The partitions that an argument names.

    Raises:
        ConfigurationError: it is one text, a text has no form of a partition, or one is there twice.
    """
    if isinstance(given, str):
        raise ConfigurationError(f"partition_by is a list of texts, not {given!r}: write [{given!r}]")
    found = tuple(map(PartitionBy.parse, given))
    twice = sorted({str(each) for each in found if found.count(each) > 1})
    if twice:
        raise ConfigurationError(f"partition_by has {', '.join(twice)} twice")
    return found
