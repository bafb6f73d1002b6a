"""Differences between the columns of a schema and the columns that Dagster has stored of a table."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
from dagster import TableSchema

from aiopravega.schema.arrow.sql_columns import sql_type


class RegistryDrift(StrEnum):
    """Kinds of differences of a column."""

    NEW = "new in the registry"
    MISSING = "missing in the registry"
    TYPE = "another type"


@dataclass(frozen=True, slots=True)
class RegistryColumnDrift:
    """A column that differs, with its type in the registry and in the table; None: the column is missing there."""

    name: str
    drift: RegistryDrift
    registry: str | None
    materialized: str | None


def registry_drift(
    registry: pa.Schema, materialized: TableSchema, ignored: Collection[str]
) -> list[RegistryColumnDrift]:
    """The columns that differ; columns of the registry come first."""
    shown = {column.name: column.type for column in materialized.columns}
    drifts = []
    for field in registry:
        text = str(field.type)
        if field.name in ignored:
            continue
        if field.name not in shown:
            drifts.append(RegistryColumnDrift(field.name, RegistryDrift.NEW, text, None))
        elif shown[field.name] not in _names(field.type):
            drifts.append(RegistryColumnDrift(field.name, RegistryDrift.TYPE, text, shown[field.name]))
    gone = [name for name in shown if name not in ignored and name not in registry.names]
    return drifts + [RegistryColumnDrift(name, RegistryDrift.MISSING, None, shown[name]) for name in gone]


def _names(kind: pa.DataType) -> Sequence[str]:
    """The names of a type in Arrow, Polars (which has long offsets) and Spark."""
    return str(kind), str(_large(kind)), sql_type(kind)


def _large(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.large_list(_large_field(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([_large_field(field) for field in kind])
    return kind


def _large_field(field: pa.Field) -> pa.Field:
    return field.with_type(_large(field.type))
