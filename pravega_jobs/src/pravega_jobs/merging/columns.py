"""Columns of a merged table, compared with the columns of changes, and columns to add."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import LandingError
from pravega_jobs.debezium.changes.meanings import INSTANT
from pravega_jobs.debezium.changes.metadata import TYPES
from pravega_jobs.error_rows import KEPT
from pravega_jobs.landing.rules import OWN_COLUMNS, Evolution
from pravega_jobs.merging.merges import Merge
from pravega_jobs.merging.rules import (
    CURRENT_COLUMN,
    DELETED_COLUMN,
    END_COLUMN,
    FROM_COLUMN,
    SEQUENCE_COLUMN,
    TO_COLUMN,
)

_MARK_TYPES: Final = {pa.bool_(): "boolean"}  # as SQL writes them


def columns_for(changes: pa.Schema, merge: Merge) -> pa.Schema:
    """The columns of a new table: the source's, and the columns that a merge adds.

    Args:
        changes: the columns that Spark has staged.
        merge: the merge.
    """
    own = [_plain(column) for column in changes if column.name not in TYPES and column.name not in KEPT]
    return pa.schema([*own, *marks_for(merge)])


def marks_for(merge: Merge) -> list[pa.Field]:
    """The columns that a merge adds to the source's.

    The position of the last change; with soft deletes, the mark of deletes; with a history, the times of a version.

    Args:
        merge: the merge.
    """
    marks = [pa.field(SEQUENCE_COLUMN, pa.binary())]
    if merge.rules.keeps_deleted:
        marks.append(pa.field(DELETED_COLUMN, pa.bool_()))
    if merge.rules.keeps_history:
        times = [pa.field(name, INSTANT) for name in (FROM_COLUMN, TO_COLUMN)]
        marks += [*times, pa.field(CURRENT_COLUMN, pa.bool_()), pa.field(END_COLUMN, pa.binary())]
    return marks


def new_columns(table: pa.Schema, changes: pa.Schema, merge: Merge) -> list[pa.Field]:
    """Columns of the changes that are to be added to a table first.

    Args:
        table: the columns that it has.
        changes: the columns that Spark has staged.
        merge: the merge.

    Raises:
        LandingError: the table has other types or lacks columns, rows are landed in it, or it keeps versions that the
            merge does not keep.
    """
    wanted, end = columns_for(changes, merge), "Nothing was changed"
    landed = [name for name in OWN_COLUMNS if name in table.names]
    if landed:
        raise LandingError(
            f"{merge}: the table has {', '.join(landed)}: rows are landed in it. Use another table. {end}"
        )
    if END_COLUMN in table.names and not merge.rules.keeps_history:
        raise LandingError(
            f"{merge}: the table has {END_COLUMN}: it keeps every version of a row. Merge with history='scd2', or into "
            f"another table. {end}"
        )
    marks = [each for each in marks_for(merge) if each.name not in table.names]
    if marks:
        texts = ", ".join(f"{each.name} {_MARK_TYPES.get(each.type, type_text(each.type))}" for each in marks)
        raise LandingError(
            f"{merge}: the table lacks {texts}: add it. Mask in which {SEQUENCE_COLUMN} is null count as older than "
            f"any change. {end}"
        )
    lacking = [name for name in merge.rules.key if name not in table.names]
    if lacking:
        raise LandingError(f"{merge}: the table lacks {', '.join(lacking)}, of its key. {end}")
    both = [name for name in wanted.names if name in table.names]
    types = {name: (type_text(table.field(name).type), type_text(wanted.field(name).type)) for name in both}
    differ = [f"{name} ({old} in the table, {new} in the changes)" for name, (old, new) in types.items() if old != new]
    if differ:
        raise LandingError(f"{merge}: types differ: {'; '.join(differ)}. Cast those of the changes. {end}")
    added = [wanted.field(name) for name in wanted.names if name not in table.names]
    if added and merge.rules.new_columns is Evolution.FAIL:
        texts = ", ".join(f"{each.name} {type_text(each.type)}" for each in added)
        raise LandingError(
            f"{merge}: the table lacks {texts}: new_columns='add' adds it, with null in older rows; 'ignore' leaves it "
            f"out. {end}"
        )
    return added if merge.rules.new_columns is Evolution.ADD else []


def file_schema(columns: pa.Schema) -> pa.Schema:
    """Columns as files have them: without metadata of a table's format, and with values of usual size.

    Args:
        columns: the columns of a table, as the library of its format names them.
    """
    return pa.schema([pa.field(each.name, _file_type(each.type), each.nullable) for each in columns])


def _file_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(pa.field("element", _file_type(type_.value_type), type_.value_field.nullable))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(each.name, _file_type(each.type), each.nullable) for each in type_])
    if pa.types.is_map(type_):
        return pa.map_(_file_type(type_.key_type), _file_type(type_.item_type))
    return type_


def _plain(column: pa.Field) -> pa.Field:
    """A column of a new table: null is allowed, and times are in UTC, as Spark writes them."""
    timed = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return pa.field(column.name, pa.timestamp("us", "UTC") if timed else column.type)


def type_text(type_: pa.DataType) -> str:
    """A type as text, however large its values may be, and whatever the fields in lists are called.

    Args:
        type_: the type of a column.
    """
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz is not None else "timestamp_ntz"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<{type_text(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{each.name}: {type_text(each.type)}' for each in type_)}>"
    return str(type_).replace("large_", "").replace("_view", "")
