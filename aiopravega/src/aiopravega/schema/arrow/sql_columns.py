"""Columns as SQL writes them, such as `id long, price decimal(10,2)`, as Arrow's types, and back.

Spark's own parser of such texts needs a JVM. This one is for all reads: those that Spark plans in a process without a
JVM, those without Spark, and checks before a session is started.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of

_SIMPLE: Final = {
    **dict.fromkeys(("boolean", "bool"), pa.bool_()),
    **dict.fromkeys(("tinyint", "byte"), pa.int8()),
    **dict.fromkeys(("smallint", "short"), pa.int16()),
    **dict.fromkeys(("int", "integer"), pa.int32()),
    **dict.fromkeys(("bigint", "long"), pa.int64()),
    **dict.fromkeys(("float", "real"), pa.float32()),
    "double": pa.float64(),
    **dict.fromkeys(("string", "varchar", "char"), pa.string()),
    "binary": pa.binary(),
    "date": pa.date32(),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.timestamp("us"),
}
_SQL_NAMES: Final = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "date32[day]": "date",
}
_WITH_LENGTH: Final = ("varchar", "char")
_DECIMALS: Final = ("decimal", "dec", "numeric")
_MOST_DIGITS: Final = 38
_DEFAULT_DIGITS: Final = 10  # as in Spark
_WORD: Final = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|(\w+)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|([^\s\w]))")


def columns_of(text: str) -> pa.Schema:
    """The columns that a text names; each may be null.

    The types are Spark's: `boolean`, `byte`, `short`, `int`, `long`, `float`, `double`, `decimal(p,s)`, `string`,
    `binary`, `date`, `timestamp`, `timestamp_ntz`, `array<…>`, `map<…, …>`, `struct<name: type, …>`, and their other
    names in SQL. A name with other signs than letters, digits and `_` needs backticks.

    Raises:
        ConfigurationError: the text is not a list of columns, a type is not known, or two columns have one name.
    """
    return _Reader(text).columns()


def sql_type(kind: pa.DataType) -> str:
    """The name that Spark has for a type of Arrow (`DataType.simpleString`); Arrow's own name for types of others."""
    if pa.types.is_list(kind):
        return f"array<{sql_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{sql_type(kind.key_type)},{sql_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{sql_type(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    return _SQL_NAMES.get(str(kind), str(kind))


@dataclass(slots=True)
class _Reader:
    """Reads one text, word by word."""

    text: str
    at: int = 0
    _word: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._next()

    def columns(self) -> pa.Schema:
        return pa.schema(self._fields(""))

    def _fields(self, end: str) -> list[pa.Field]:
        """Columns up to the word `end`, which is left out."""
        fields: list[pa.Field] = []
        while True:
            name = self._name()
            self._skip(":")
            fields.append(pa.field(name, self._type()))
            self._constraints(name)
            if self._skip(","):
                continue
            self._need(end)
            break
        names = [each.name.lower() for each in fields]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            self._fail(f"column {twice[0]!r} is there more than once")
        return fields

    def _name(self) -> str:
        word = self._word
        if word.startswith("`") and word != "`":
            name = word[1:-1].replace("``", "`")
        elif word and word.replace("_", "a").isalnum():
            name = word
        else:
            self._fail("the name of a column is missing")
        self._next()
        return name

    def _type(self) -> pa.DataType:
        word = self._word.lower()
        self._next()
        if word in _DECIMALS:
            return self._decimal()
        if word == "array":
            self._need("<")
            item = self._type()
            self._need(">")
            return list_of(item)
        if word == "map":
            self._need("<")
            key = self._type()
            self._need(",")
            value = self._type()
            self._need(">")
            return pa.map_(key, value)
        if word == "struct":
            self._need("<")
            return pa.struct(self._fields(">"))
        if word not in _SIMPLE:
            known = ", ".join([*_SIMPLE, "decimal(p,s)", "array<…>", "map<…, …>", "struct<name: type, …>"])
            self._fail(f"{word!r} is not a type; known are {known}" if word else "a type is missing")
        if word in _WITH_LENGTH:
            self._numbers(1)
        return _SIMPLE[word]

    def _decimal(self) -> pa.DataType:
        given = self._numbers(2) or [_DEFAULT_DIGITS]
        digits, scale = [*given, 0][:2]
        if not 0 <= scale <= digits <= _MOST_DIGITS or not digits:
            self._fail(f"decimal({digits},{scale}) is not a type: there are 1 to {_MOST_DIGITS} digits")
        return pa.decimal128(digits, scale)

    def _numbers(self, most: int) -> list[int]:
        """Up to `most` whole numbers in parentheses, or none."""
        found: list[int] = []
        if not self._skip("("):
            return found
        while not found or (len(found) < most and self._skip(",")):
            if not self._word.isdecimal():
                self._fail("a number is missing")
            found.append(int(self._word))
            self._next()
        self._need(")")
        return found

    def _constraints(self, name: str) -> None:
        while self._word.lower() in ("not", "comment"):
            if self._skip("not"):
                self._need("null")
                self._fail(f"column {name!r} may not be NOT NULL: a field that an event lacks is null")
            self._next()
            if self._word[:1] not in ("'", '"'):
                self._fail("the text of a comment is missing")
            self._next()

    def _need(self, word: str) -> None:
        if self._word.lower() != word:
            self._fail(f"{word!r} is missing" if word else f"{self._word!r} is not expected")
        self._next()

    def _skip(self, word: str) -> bool:
        if self._word.lower() != word:
            return False
        self._next()
        return True

    def _next(self) -> None:
        found = _WORD.match(self.text, self.at)
        if found is None:
            self._word, self.at = "", len(self.text)
        else:
            self._word, self.at = found[0].strip(), found.end()

    def _fail(self, problem: str) -> NoReturn:
        before = self.text[: max(self.at - len(self._word), 0)].rstrip()
        where = f" after {before[-40:]!r}" if before else ""
        raise ConfigurationError(
            f"columns {self.text!r}: {problem}{where}. Columns are written as in SQL: id long, price decimal(10,2), "
            "tags array<string>"
        )
