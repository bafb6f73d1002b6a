"""The columns of a read of change events: the table's columns, and columns about the change."""

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.meanings import check_type
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP, ChangeOptions, Changes, NewColumns
from pravega_jobs.debezium.changes.placeholders import Placeholder

_ENVELOPE: Final = (BEFORE, AFTER, OP)


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The columns of a read of change events. It can be pickled: it is made once and sent to the decoders.

    Args:
        schema: all columns, in their order. Names of `metadata.TYPES` are about the change, others are the table's.
        options: of the read.
        meanings: the meanings of values in events without a schema, by the schema that the user gave; None without one.
    """

    schema: pa.Schema
    options: ChangeOptions
    meanings: dict[str, Meaning] | None = None
    table: pa.Schema = field(init=False)
    placeholder: Placeholder = field(init=False)

    def __post_init__(self) -> None:
        own = [one for one in self.schema if one.name not in metadata.TYPES]
        if self.options.changes is Changes.ENVELOPE:
            own = inside(own)
        object.__setattr__(self, "table", pa.schema(own))
        object.__setattr__(self, "placeholder", Placeholder(self.options.unavailable_placeholder))
        self._check()

    @property
    def metadata(self) -> tuple[str, ...]:
        """The columns about the change."""
        return tuple(name for name in self.schema.names if name in metadata.TYPES)

    @property
    def before(self) -> pa.Schema:
        """The columns of the image before a change that are needed: for upserts only the key."""
        if self.options.changes is not Changes.UPSERT:
            return self.table
        return pa.schema([one for one in self.table if one.name in self.options.key])

    def _check(self) -> None:
        options, names = self.options, self.table.names
        lacking = [name for name in options.key if name not in names]
        if lacking:
            raise ConfigurationError(
                f"option 'key' names {', '.join(lacking)}, but the table has the columns {', '.join(names)}"
            )
        for one in self.schema:
            wanted = metadata.TYPES.get(one.name)
            if wanted is not None and wanted != one.type:
                raise ConfigurationError(f"column {one.name!r} is {wanted}, but {one.type} was asked for")
        for one in self.table:
            check_type(one.type, one.name)
        if not names:
            raise ConfigurationError("the read has no column of the table")
        if options.changes is not Changes.ENVELOPE and not set(metadata.TELLING) & set(self.metadata):
            raise ConfigurationError(
                f"no column of the read tells a deleted row from others: ask for {' or '.join(metadata.TELLING)}, "
                "in .schema(…) or with option 'metadata_columns'"
            )
        if options.changes is Changes.UPSERT and not options.key:
            raise ConfigurationError(
                "changes=upsert needs option 'key', the columns that identify a row: a delete has no others. For a "
                "table without a key set changes=rows"
            )
        if options.new_columns is NewColumns.REST and metadata.REST not in self.metadata:
            raise ConfigurationError(f"new_columns=rest needs the column {metadata.REST}: add it to the read")


def columns_for(table: pa.Schema, options: ChangeOptions, about: tuple[str, ...]) -> pa.Schema:
    """All columns of a read, if the user did not give them: the table's, then columns about the change.

    Raises:
        ConfigurationError: the table has a column with the name of a column about changes.
    """
    clashing = sorted(set(table.names) & set(metadata.TYPES))
    if clashing:
        raise ConfigurationError(
            f"the table has columns with names of columns about changes: {', '.join(clashing)}. Rename them in "
            "Debezium, or give the columns without them with .schema(…)"
        )
    more = [(name, metadata.TYPES[name]) for name in about]
    if options.changes is Changes.ENVELOPE:
        image = pa.struct(list(table))
        return pa.schema([(BEFORE, image), (AFTER, image), (OP, pa.string()), *more])
    return pa.schema([*table, *more])


def inside(own: list[pa.Field]) -> list[pa.Field]:
    """The columns of the table inside the structs of both images.

    Raises:
        ConfigurationError: there are other columns, or the structs are not of the same columns.
    """
    names = [one.name for one in own]
    types = {one.name: one.type for one in own}
    if not set(names) <= set(_ENVELOPE) or AFTER not in types or types.get(OP, pa.string()) != pa.string():
        raise ConfigurationError(
            f"changes=envelope has the columns before, after (structs of the table's columns) and op (string), and "
            f"columns about changes, not {', '.join(names)}"
        )
    if not pa.types.is_struct(types[AFTER]) or types.get(BEFORE, types[AFTER]) != types[AFTER]:
        raise ConfigurationError(
            "changes=envelope: before and after must be structs with the same columns of the table"
        )
    return list(types[AFTER])
