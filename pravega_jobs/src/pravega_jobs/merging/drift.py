"""Differences between the columns of a merged table and of the newest change of the database's table."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.metadata import TYPES
from pravega_jobs.merging.columns import type_text
from pravega_jobs.merging.newest_change import NewestChange
from pravega_jobs.merging.rules import END_COLUMN, HISTORY_COLUMNS


class Drift(StrEnum):
    """The way in which a column differs."""

    NEW = "new in the changes"
    GONE = "gone from the changes"
    TYPE = "another type"


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """A column that differs, with its types; None: it is not there, or its type is not known."""

    name: str
    drift: Drift
    changes: str | None
    table: str | None


def drift_of(table: pa.Schema, change: NewestChange, ignored: Collection[str]) -> list[ColumnDrift]:
    """The columns that differ; the change's come first.

    Args:
        table: the columns of the table, as its files have them.
        change: a change that has a row. Types are compared only if it carries its schema.
        ignored: columns that may differ, beside those about changes.

    Raises:
        ConfigurationError: a column of the schema has a type that is not known.
    """
    own = {*TYPES, *(HISTORY_COLUMNS if END_COLUMN in table.names else ())}
    here = {each.name: type_text(each.type) for each in table if each.name not in own and each.name not in ignored}
    there: dict[str, str | None] = dict.fromkeys(change.payload["after"] or ())
    if change.columns is not None:
        there = {each.name: type_text(each.type) for each in columns_of(change.columns)}
    found = []
    for name, type_ in there.items():
        if name in ignored:
            continue
        if name not in here:
            found.append(ColumnDrift(name, Drift.NEW, type_, None))
        elif type_ is not None and type_ != here[name]:
            found.append(ColumnDrift(name, Drift.TYPE, type_, here[name]))
    return found + [ColumnDrift(name, Drift.GONE, None, here[name]) for name in here if name not in there]
