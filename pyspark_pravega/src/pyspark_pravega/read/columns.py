"""The columns of a read: their names, order and types.

A raw read has the columns of Pravega's JVM connector, a decoded one the fields of its events; columns with the position
and the time of an event follow on request. `pyspark_pravega.read.rows` makes the values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from aiopravega.errors import ConfigurationError
from pravega_jobs.decoding.plan import check_clashes
from pravega_jobs.error_rows import ERROR_TYPE, KEPT
from pravega_jobs.spark.options import ERROR, READ_BYTES
from pyspark_pravega.decode.plans import SparkPlan

EVENT: Final = "event"
ALL: Final = "all"
# The columns of Pravega's JVM connector, in its order.
RAW_COLUMNS: Final = (EVENT, "scope", "stream", "segment_id", "offset")

_TEXT: Final = (StringType(), pa.string())
_LONG: Final = (LongType(), pa.int64())
_TIME: Final = (TimestampType(), pa.timestamp("us", tz="UTC"))
_TYPES: Final[Mapping[str, tuple[DataType, pa.DataType]]] = {
    "event_pointer": _TEXT,
    "scope": _TEXT,
    "stream": _TEXT,
    "segment": _TEXT,
    "segment_id": _LONG,
    "offset": _LONG,
    "event_time_lower": _TIME,
    "event_time_upper": _TIME,
}
# The columns that may be asked for, in the order of `all`.
METADATA_COLUMNS: Final = tuple(_TYPES)
TIME_COLUMNS: Final = frozenset({"event_time_lower", "event_time_upper"})
_BYTES: Final = (BinaryType(), pa.binary())
_PARTS: Final = {pa.string(): StringType(), pa.binary(): BinaryType(), pa.int32(): IntegerType()}
_ERROR: Final = (StructType([StructField(part.name, _PARTS[part.type]) for part in ERROR_TYPE]), ERROR_TYPE)
_OUR_TYPES: Final = {READ_BYTES: _LONG, ERROR: _ERROR}
# Columns that get no prefix: events have no fields of these names.
_OUR_NAMES: Final = (*KEPT, READ_BYTES)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one read, as Spark's types and as Arrow's.

    The fields of decoded events come first, then for each of `kinds` the column that `SegmentRows` makes. A kind is one
    of `RAW_COLUMNS`, `METADATA_COLUMNS`, `READ_BYTES` or `KEPT`.
    """

    schema: StructType
    arrow: pa.Schema
    kinds: tuple[str, ...]
    decoding: SparkPlan | None = None

    @classmethod
    def of(cls, metadata: Sequence[str] = (), decoding: SparkPlan | None = None, prefix: str = "") -> Self:
        """The columns of a read that asks for some metadata.

        Args:
            metadata: names of `METADATA_COLUMNS`, or `all`; columns that a raw read always has are not repeated.
            decoding: the plan by which events become columns; None: the events are read raw.
            prefix: put in front of the metadata's names, so that they differ from the names of decoded fields.

        Raises:
            ConfigurationError: a name is unknown, or a decoded field has it.
        """
        counts = (READ_BYTES,) if READ_BYTES in metadata else ()
        named = tuple(name for name in metadata if name != READ_BYTES)
        wanted = (*(METADATA_COLUMNS if ALL in named else named), *counts)
        unknown = [name for name in named if name not in (*_TYPES, ALL)]
        if unknown:
            raise ConfigurationError(
                f"option 'metadata_columns' has {', '.join(unknown)}, but must be {ALL} or some of "
                f"{', '.join(METADATA_COLUMNS)}"
            )
        if decoding is None:
            more = tuple(name for name in wanted if name not in RAW_COLUMNS)
            names = (*RAW_COLUMNS, *_named_by(prefix, more))
            return cls(*_schemas(names, (*RAW_COLUMNS, *more)), (*RAW_COLUMNS, *more))
        kinds = wanted if decoding.kept is None else (*wanted, decoding.kept)
        names = _named_by(prefix, kinds)
        check_clashes(names, decoding.schema.names)
        schema, arrow = _schemas(names, kinds)
        return cls(
            StructType([*decoding.schema.fields, *schema.fields]),
            pa.schema([*decoding.arrow_schema, *arrow]),
            kinds,
            decoding,
        )

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same columns."""
        return dict(self.decoding.pinned) if self.decoding else {}

    def kind_of(self, column: str) -> str | None:
        """The kind of a column, by its name with the prefix, in any case; None for a decoded field."""
        own = self.schema.names[-len(self.kinds) :] if self.kinds else []
        for name, kind in zip(own, self.kinds, strict=True):
            if name.lower() == column.lower():
                return kind
        return None

    def check(self, given: StructType) -> Self:
        """Check a schema that the user gave; returns these columns, or for a raw read the selection of them.

        Raises:
            ConfigurationError: the schema has columns of other names or types.
        """
        own = {field.name.lower(): position for position, field in enumerate(self.schema.fields)}
        chosen = [own.get(field.name.lower(), -1) for field in given.fields]
        fits = -1 not in chosen and len(set(chosen)) == len(chosen)
        if fits and all(
            field.dataType == self.schema.fields[at].dataType for field, at in zip(given.fields, chosen, strict=True)
        ):
            if self.decoding is None:
                return type(self)(
                    given, _named(self.arrow, chosen, given.names), tuple(self.kinds[position] for position in chosen)
                )
            if chosen == list(range(len(own))):
                return self
        names = {field.name.lower() for field in given.fields}
        lacking = [
            f"{each.name} {each.dataType.simpleString()}" for each in self.schema if each.name.lower() not in names
        ]
        hint = "leave it out, and select and cast columns of the result"
        if self.decoding is not None and lacking:
            hint = (
                f"add {', '.join(lacking)} at its end, or give only the columns of the events, with option 'columns': "
                "the read adds its own"
            )
        raise ConfigurationError(
            f"a read from Pravega has the columns {self.schema.simpleString()}, but the schema {given.simpleString()} "
            f"was given: {hint}"
        )


def _named_by(prefix: str, kinds: Sequence[str]) -> tuple[str, ...]:
    return tuple(kind if kind in _OUR_NAMES else prefix + kind for kind in kinds)


def _schemas(names: Sequence[str], kinds: Sequence[str]) -> tuple[StructType, pa.Schema]:
    types = [_OUR_TYPES.get(kind) or _TYPES.get(kind, _BYTES) for kind in kinds]
    fields = [StructField(name, spark) for name, (spark, _) in zip(names, types, strict=True)]
    return StructType(fields), pa.schema([(name, arrow) for name, (_, arrow) in zip(names, types, strict=True)])


def _named(schema: pa.Schema, positions: Sequence[int], names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, schema.field(position).type) for position, name in zip(positions, names, strict=True)])
