"""The columns of a write: the table's, and the columns about the change. They are found before any work starts."""

from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import Meaning, Meanings
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP, Changes, WrittenChanges
from pravega_jobs.debezium.changes.plan import inside
from pravega_jobs.debezium.changes.written_schema import meaning_for

_NOT_WRITTEN: Final = ("_deleted", metadata.SEQUENCE, metadata.REST, metadata.SOURCE)
_PAIRED: Final = "pair both images of an update with pyspark_pravega.cdc.to_debezium"


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The columns of a write: `table` are the table's, with their meanings; `about` are the names of the others.

    With `envelope`, the table's columns are in the structs `before` and `after`.
    """

    names: tuple[str, ...]
    table: pa.Schema
    meanings: Meanings
    about: frozenset[str]
    envelope: bool

    @classmethod
    def find(cls, columns: pa.Schema, options: WrittenChanges, known: dict[str, Meaning] | None) -> Self:
        """Find the table's columns among all columns.

        Args:
            columns: of the write.
            options: of the write.
            known: the meanings of the table's columns, by the schema that the user gave; None without one.

        Raises:
            ConfigurationError: a column is missing, or cannot be written.
        """
        if options.changes is Changes.ROWS:
            raise ConfigurationError(f"changes=rows is for reads: {_PAIRED}, and write without this option")
        own = [one for one in columns if one.name not in metadata.TYPES]
        about = frozenset(columns.names) & metadata.TYPES.keys()
        envelope = options.changes is Changes.ENVELOPE or (options.changes is None and _is_envelope(columns))
        table = pa.schema(inside(own) if envelope else own)
        _check_about(columns, about)
        if not {metadata.CHANGE_TYPE, "_op"} & about and not (envelope and OP in columns.names):
            raise ConfigurationError(
                f"no column has the kind of each change: there must be {metadata.CHANGE_TYPE} (insert, "
                f"update_postimage, delete, truncate) or _op (c, r, u, d, t), but there are {', '.join(columns.names)}"
            )
        if not table.names:
            raise ConfigurationError("there are no columns of a table to make change events of")
        lacking = [name for name in options.key if name not in table.names]
        if lacking:
            raise ConfigurationError(
                f"option 'key' names {', '.join(lacking)}, but the table has the columns {', '.join(table.names)}"
            )
        meanings = {one.name: _meaning(one, options, known) for one in table}
        return cls(tuple(columns.names), table, meanings, about, envelope)


def _is_envelope(columns: pa.Schema) -> bool:
    """True if the columns are both images, as `to_debezium` and reads with changes=envelope give them."""
    own = {name for name in columns.names if name not in metadata.TYPES}
    return AFTER in own <= {BEFORE, AFTER, OP} and pa.types.is_struct(columns.field(AFTER).type)


def _check_about(columns: pa.Schema, about: frozenset[str]) -> None:
    for name in _NOT_WRITTEN:
        if name in about:
            raise ConfigurationError(
                f"column {name!r} is made by reads and cannot be written: drop it. The order of changes is written "
                "from _lsn, or from _file, _pos and _row; without them it is the order of the rows of a key"
            )
    for name in sorted(about):
        wanted, found = metadata.TYPES[name], columns.field(name).type
        if not _alike(wanted, found):
            raise ConfigurationError(f"column {name!r} is {found}, but it must be {wanted}: cast it")


def _alike(wanted: pa.DataType, found: pa.DataType) -> bool:
    if pa.types.is_list(wanted) and pa.types.is_list(found):
        return bool(wanted.value_type == found.value_type)
    return bool(wanted == found)


def _meaning(column: pa.Field, options: WrittenChanges, known: dict[str, Meaning] | None) -> Meaning:
    if known is None:
        return meaning_for(column.type, column.name, options)
    if column.name not in known:
        raise ConfigurationError(
            f"the schema of the events has no column {column.name!r}, but {', '.join(known)}: give a schema that has "
            "it, or drop the column"
        )
    return known[column.name]
