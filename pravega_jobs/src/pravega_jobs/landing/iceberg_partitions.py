"""Partitions of an Iceberg table: columns and functions of columns, whose values its manifests have for each file.

A table gets them when it is made, and may get others later. Functions are computed by pyiceberg, in tasks as well.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyiceberg.io.pyarrow import (
    _ConvertToIcebergWithoutIDs,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    visit_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import UnknownTransform, parse_transform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, FloatType

from aiopravega.errors import LandingError
from pravega_jobs.landing.partition_by import PartitionBy
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.splitting import Split, check_same

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData
    from pyiceberg.table.metadata import TableMetadata

_FIRST_ID: Final = 1000  # of the fields of partitions
_FORMS: Final = "identity, year, month, day, hour, bucket, truncate and void"


@dataclass(frozen=True, slots=True)
class IcebergPartition:
    """A field of the partitions: a function of a column, as Iceberg writes it."""

    name: str
    column: str
    function: str

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The values of the function: dates and times as whole numbers, as manifests have them."""
        kind: Any = visit_pyarrow(column.type, _ConvertToIcebergWithoutIDs())
        return _physical(parse_transform(self.function).pyarrow_transform(kind)(column))

    def folder(self, value: Any) -> str:
        """Empty: files of all partitions are in one folder."""
        del value
        return ""


def new_spec(columns: pa.Schema, landing: Landing) -> tuple[Schema, PartitionSpec]:
    """The columns and the partitions of a table that a landing makes.

    Args:
        columns: the columns of the rows, with those that a landing adds.
        landing: the landing.

    Raises:
        LandingError: a column is not in the rows, or has a type that its function does not take.
    """
    schema = assign_fresh_schema_ids(visit_pyarrow(columns, _ConvertToIcebergWithoutIDs()))
    fields = []
    for number, each in enumerate(landing.partition_by):
        if each.column not in columns.names:
            raise LandingError(
                f"{landing}: partition_by has {each}, and the rows have {', '.join(columns.names)}. Nothing was changed"
            )
        source, function = schema.find_field(each.column), parse_transform(_function(each))
        if not function.can_transform(source.field_type) or _is_inexact(source.field_type):
            raise LandingError(
                f"{landing}: partition_by has {each}, and {each.column} is {source.field_type}, which it does not "
                "take. Nothing was changed"
            )
        fields.append(PartitionField(source.field_id, _FIRST_ID + number, function, _name(each)))
    return schema, PartitionSpec(*fields)


def split_of(metadata: "TableMetadata", landing: Landing) -> Split | None:
    """The partitions by which the rows of a landing are split; None: the table has none.

    Raises:
        LandingError: the table has other partitions than the landing names, or some that are not understood.
    """
    spec, schema = metadata.spec(), metadata.schema()
    columns = {each.field_id: each for each in schema.fields}
    fields = []
    for each in spec.fields:
        source = columns.get(each.source_id)
        is_known = not isinstance(each.transform, UnknownTransform)
        name = schema.find_column_name(each.source_id)
        if not is_known or (name is not None and source is None):
            raise LandingError(
                f"{landing}: the table has the partition {each.transform} of {name}; rows are split by {_FORMS} of "
                "columns that are not in others: use a table without. Nothing was changed"
            )
        if source is not None and _is_inexact(source.field_type):
            raise LandingError(
                f"{landing}: the table has a partition of {name}, which is {source.field_type}: use a table "
                "without. Nothing was changed"
            )
        fields.append(IcebergPartition(each.name, "" if source is None else source.name, str(each.transform)))
    check_same(landing, [str(each) for each in landing.partition_by], list(map(_shown, fields)))
    return Split(tuple(fields)) if fields else None


def data_file(
    metadata: "TableMetadata", address: str, size: int, footer: "FileMetaData", partition: Record
) -> DataFile:
    """The entry of a Parquet file for a manifest, with the statistics of its footer.

    Args:
        metadata: of the table that gets the file; it must have a mapping of names, if the file has no ids of columns.
        address: the address of the file.
        size: its bytes.
        footer: its footer.
        partition: the values of its partition, of the table's own partitions now.
    """
    schema = metadata.schema()
    statistics = data_file_statistics_from_parquet_metadata(
        footer, compute_statistics_plan(schema, metadata.properties), parquet_path_to_id_mapping(schema)
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=address,
        file_format=FileFormat.PARQUET,
        partition=partition,
        file_size_in_bytes=size,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _function(each: PartitionBy) -> str:
    """The function of a partition, as Iceberg writes it."""
    return f"{each.function or 'identity'}{'' if each.number is None else f'[{each.number}]'}"


def _name(each: PartitionBy) -> str:
    """The name of a partition, as pyiceberg gives it."""
    if each.function is None:
        return each.column
    if each.number is None:
        return f"{each.column}_{each.function}"
    return f"{each.column}_{each.function.removesuffix('ate')}_{each.number}"


def _is_inexact(kind: Any) -> bool:
    """True for a type whose values are equal and not the same: a reader may take -0.0 of a partition for 0.0."""
    return isinstance(kind, FloatType | DoubleType)


def _physical(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _shown(field: IcebergPartition) -> str:
    """A field as an argument names it."""
    function, _, number = field.function.removesuffix("]").partition("[")
    return str(PartitionBy(field.column, None if function == "identity" else function, int(number) if number else None))
