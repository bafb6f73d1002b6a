"""Columns of rows beside the columns of the table that takes them: what is refused, left out, added or made wider.

Types are texts, as Spark's `simpleString` spells them, so that one rule serves all kinds of tables and rows. Fields
inside of a struct are a part of its type: they do not grow.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import OWN_COLUMNS, Evolution, Landing

# Types in an order: each holds all values of the types before it.
_WIDER: Final = (("tinyint", "smallint", "int", "bigint"), ("float", "double"))
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_END: Final = "Nothing was changed"


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table that exists, without those that a landing adds.

    Args:
        types: the names and types, in order.
        required: the columns that must not be null.
        widens: True if a column can get a wider type, and all readers find older rows in it.
        takes_values: True if the table turns values into its types, and fills in what rows lack: a database.
    """

    types: Mapping[str, str]
    required: frozenset[str] = frozenset()
    widens: bool = False
    takes_values: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """The columns that a table gets for the rows of a landing, and those whose type becomes wider, with their types."""

    added: dict[str, str] = field(default_factory=dict)
    widened: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.widened)


def growth(landing: Landing, table: TableColumns, found: Mapping[str, str]) -> Growth:
    """The change of a table's columns that the rows of a landing need.

    Args:
        landing: with the treatment of columns that the table lacks.
        table: its columns.
        found: the types of the rows by name.

    Raises:
        LandingError: the columns differ, and the landing or the kind of table does not allow it.
    """
    new = {name: kind for name, kind in found.items() if name not in table.types}
    other = {name: kind for name, kind in found.items() if table.types.get(name, kind) != kind}
    lacking = [name for name in table.types if name not in found]
    if landing.new_columns is Evolution.FAIL:
        if table.takes_values:
            lacking, other = [], {}
        if new or other or lacking:
            raise _unlike(landing, table, found, new)
        return Growth()
    _check_cases(landing, table, new)
    needed = sorted(table.required.intersection(lacking))
    if needed and not table.takes_values:
        raise LandingError(
            f"{landing}: the rows lack {', '.join(needed)}, which may not be null in the table: add it to the rows, or "
            f"allow null in the table. {_END}"
        )
    wider = {name: kind for name, kind in other.items() if is_wider(kind, table.types[name])}
    adds = landing.new_columns is Evolution.ADD
    widened = wider if adds and table.widens else {}
    unfit = {
        name: kind
        for name, kind in other.items()
        if name not in widened and not is_wider(table.types[name], kind) and not table.takes_values
    }
    if unfit:
        texts = "; ".join(
            f"{name} ({table.types[name]} in the table, {kind} in the rows)" for name, kind in unfit.items()
        )
        raise LandingError(
            f"{landing}: types differ: {texts}. {_ways(adds, table, unfit.keys() <= wider.keys())}. {_END}"
        )
    return Growth(new if adds else {}, widened)


def fitted(rows: Rows, table: TableColumns | None, landing: Landing) -> Rows:
    """The rows with the columns that the table takes: those that it ignores left out, narrower ones in its types.

    Args:
        rows: the rows of the landing.
        table: the columns of the table; None: there is none, and it gets the columns of the rows.
        landing: the landing.

    Raises:
        LandingError: the columns differ, and the landing or the kind of table does not allow it.
    """
    found = rows.types()
    if table is None or landing.new_columns is Evolution.FAIL:
        return rows
    grown = growth(landing, table, found)
    kept = {name: kind for name, kind in found.items() if name in table.types or name in grown.added}
    if not table.takes_values:
        wanted = {**table.types, **grown.widened, **grown.added}
        kept = {name: kind for name, kind in wanted.items() if name in kept}
    return rows if list(kept.items()) == list(found.items()) else rows.select(kept)


def is_wider(kind: str, other: str) -> bool:
    """True if a type differs from `other`, and holds all of its values."""
    for kinds in _WIDER:
        if kind in kinds and other in kinds:
            return kinds.index(kind) > kinds.index(other)
    digits, before = _DECIMAL.fullmatch(kind), _DECIMAL.fullmatch(other)
    if digits is None or before is None:
        return False
    return digits[2] == before[2] and int(digits[1]) > int(before[1])


def check_columns(names: list[str]) -> None:
    """Check that the rows leave room for the columns of a landing.

    Raises:
        LandingError: they have columns of these names, or two of one name.
    """
    lower = [name.lower() for name in names]
    taken = [name for name in OWN_COLUMNS if name in lower]
    if taken:
        raise LandingError(f"the rows have a column {', '.join(taken)}, which every landed row gets: rename or drop it")
    twice = sorted({name for name in names if lower.count(name.lower()) > 1})
    if twice:
        raise LandingError(f"the rows have {', '.join(twice)} twice: a table has each column once")


def _check_cases(landing: Landing, table: TableColumns, new: Iterable[str]) -> None:
    """Check that no new column has the name of another one but for its case: most readers take them for one."""
    names = {name.lower(): name for name in (*OWN_COLUMNS, *table.types)}
    for name in new:
        known = names.get(name.lower())
        if known is not None:
            raise LandingError(
                f"{landing}: the rows have {name}, and the table has {known}: rename it in the rows. {_END}"
            )


def _unlike(landing: Landing, table: TableColumns, found: Mapping[str, str], new: Mapping[str, str]) -> LandingError:
    """The error of rows with other columns than the table's."""
    lacks = f"The table lacks {_shown(new)}. " if new else ""
    return LandingError(
        f"{landing}: the table has the columns {_shown(table.types)}, and the rows have {_shown(found)}. {lacks}"
        "new_columns='add' adds columns to the table, with null in older rows, and 'ignore' leaves them out; with both "
        f"columns that the rows lack are null. Or select and cast the columns of the table. {_END}"
    )


def _ways(adds: bool, table: TableColumns, are_wider: bool) -> str:
    if are_wider and not table.widens:
        return (
            "A table of this kind keeps the types of its columns: cast those of the rows, or land into a new table or "
            "one of Iceberg or PostgreSQL, whose columns can become wider"
        )
    if are_wider and not adds:
        return "new_columns='add' makes the columns of the table wider; or cast those of the rows"
    return "Cast those of the rows"


def _shown(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())
