"""Plain rows as changes of a table: what their columns must be, for Spark and this process alike. No I/O.

Each row is an insert or update of its key, or a delete, where `delete_column` is true. Its position (`_sequence`) is
made of the columns of its order, 8 bytes each, which sort as their values do: so positions of all ranges can be
compared, and a row that is older than the table's does nothing. Rows without an order have one position, of no bytes:
of two ranges the later one wins.
"""

import re
from collections.abc import Mapping
from typing import Final

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, TYPES
from pravega_jobs.landing.rules import OWN_COLUMNS
from pravega_jobs.merging.rules import HISTORY_COLUMNS, MergeRules
from pravega_jobs.spark.options import CORRUPT, ERROR

# The kinds of changes that rows are.
UPSERT: Final = "update_postimage"
DELETE: Final = "delete"
_NUMBERS: Final = ("tinyint", "smallint", "int", "bigint")
DATE: Final = "date"
TIME: Final = "timestamp"
_ORDERS: Final = (*_NUMBERS, DATE, TIME)
_KEYS: Final = (*_ORDERS, "timestamp_ntz", "string", "binary", "boolean")
_DECIMAL: Final = re.compile(r"decimal\(\d+,\d+\)")
_TAKEN: Final = frozenset((*TYPES, *HISTORY_COLUMNS, *OWN_COLUMNS, CORRUPT, ERROR))


def needed(rules: MergeRules) -> tuple[str, ...]:
    """The columns in which no row may have null."""
    return (*rules.key, *(rules.order_by or ()), *(() if rules.delete_column is None else (rules.delete_column,)))


def check_plain(types: Mapping[str, str], rules: MergeRules) -> None:
    """Check the columns of plain rows.

    Args:
        types: the columns and their types, as Spark's `simpleString` spells them.
        rules: the rules of the merge, with an order.

    Raises:
        ConfigurationError: a column is missing, of a type that cannot be a key, an order or a mark of deletes, or has
            the name of a column that a merge or a read adds.
    """
    lacking = [name for name in needed(rules) if name not in types]
    if lacking:
        raise ConfigurationError(f"the rows have no column {', '.join(lacking)}: they have {', '.join(types)}")
    taken = sorted(_TAKEN.intersection(types))
    if taken:
        way = "leave out order_by, since these are changes of a database" if CHANGE_TYPE in taken else "rename it"
        raise ConfigurationError(
            f"the rows have {', '.join(taken)}, which merges, landings and reads of changes use themselves: {way}, or "
            "leave it out of the rows"
        )
    for name in rules.key:
        if types[name] not in _KEYS and not _DECIMAL.fullmatch(types[name]):
            raise ConfigurationError(
                f"the key has {name}, which is {types[name]}: rows are found by whole numbers, decimals, texts, bytes, "
                "booleans, dates and timestamps. Cast it, or name another column"
            )
    for name in rules.order_by or ():
        if types[name] not in _ORDERS:
            raise ConfigurationError(
                f"order_by has {name}, which is {types[name]}: rows are ordered by whole numbers, dates and timestamps "
                "(with a time zone). Cast it, or name another column"
            )
    if rules.delete_column is not None and types[rules.delete_column] != "boolean":
        raise ConfigurationError(
            f"delete_column is {rules.delete_column}, which is {types[rules.delete_column]}, but must be boolean: true "
            "in rows that delete the row of their key"
        )


def lacks_text(name: str) -> str:
    """The text of the error for rows that have null in a column that they need."""
    return (
        f"the rows have null in {name}: each needs its key, its order and whether it deletes. Leave out rows that have "
        "none, or fill it in. Nothing was changed"
    )


def tied_text(rules: MergeRules) -> str:
    """The beginning of the text of the error for two rows of a key that have one position."""
    if rules.order_by:
        return (
            f"order_by ({', '.join(rules.order_by)}) does not say which row of a key is the last one: add a column to "
            "it, such as segment_id and offset of the option metadata_columns, or leave only one of these rows. "
            "Nothing was changed. The key: "
        )
    return (
        "the range has two rows of one key, and order_by=() says that it has each key once: name the columns that "
        "order them, or leave only one of these rows. Nothing was changed. The key: "
    )


def tied(rules: MergeRules, key: str) -> LandingError:
    """The error for two rows of a key that have one position."""
    return LandingError(tied_text(rules) + key)
