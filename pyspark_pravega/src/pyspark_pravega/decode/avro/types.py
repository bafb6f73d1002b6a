"""Which Spark type an Avro type becomes: as in Spark's own `from_avro`, so that one can take the other's place."""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from aiopravega.errors import ConfigurationError
from pyspark_pravega.decode.avro.schema import (
    AvroType,
    Enumeration,
    Fixed,
    Mapping,
    Primitive,
    Record,
    Sequence,
    Union,
)

MOST_DIGITS: Final = 38  # of Spark's decimals, and Arrow's of 128 bits
_SIMPLE: Final[dict[str, type[DataType]]] = {
    "null": NullType,
    "boolean": BooleanType,
    "int": IntegerType,
    "long": LongType,
    "float": FloatType,
    "double": DoubleType,
    "bytes": BinaryType,
    "string": StringType,
}
# Nanoseconds are cut to the microseconds that Spark has.
_LOGICAL: Final[dict[tuple[str, str], type[DataType]]] = {
    ("int", "date"): DateType,
    ("long", "timestamp-millis"): TimestampType,
    ("long", "timestamp-micros"): TimestampType,
    ("long", "timestamp-nanos"): TimestampType,
    ("long", "local-timestamp-millis"): TimestampNTZType,
    ("long", "local-timestamp-micros"): TimestampNTZType,
    ("long", "local-timestamp-nanos"): TimestampNTZType,
}


def columns_of(schema: AvroType) -> StructType:
    """The columns of a schema: the fields of a record, or one named `value` of anything else.

    Raises:
        ConfigurationError: a type cannot be a column.
    """
    if isinstance(schema, Record):
        return _fields(schema, "")
    return StructType([StructField("value", spark_type(schema, "value"))])


def spark_type(schema: AvroType, path: str) -> DataType:
    """The Spark type of an Avro type; everything may be null, since a malformed event is.

    Raises:
        ConfigurationError: there is none; `path` says where.
    """
    match schema:
        case Primitive("bytes" | "string", "decimal", precision, scale) | Fixed(_, _, "decimal", precision, scale):
            if precision > MOST_DIGITS:
                raise ConfigurationError(
                    f"{path} is a decimal of {precision} digits, and Spark has {MOST_DIGITS} at most: read it raw"
                )
            return DecimalType(precision, scale)
        case Primitive(kind, logical):
            return _LOGICAL.get((kind, logical or ""), _SIMPLE[kind])()
        case Fixed():
            return BinaryType()
        case Enumeration():
            return StringType()
        case Sequence(items):
            if _takes_no_bytes(items):
                raise ConfigurationError(f"{path} is an array of items without content, which has no end: read it raw")
            return ArrayType(spark_type(items, f"{path}[]"))
        case Mapping(values):
            return MapType(StringType(), spark_type(values, f"{path}{{}}"))
        case Union():
            return _union(schema, path)
        case Record():
            return _fields(schema, path)


def members(union: Union) -> list[int]:
    """The branches of a union that are not null, as positions."""
    return [place for place, branch in enumerate(union.branches) if branch != Primitive("null")]


def merged(union: Union) -> Primitive | None:
    """The one type that holds all of a union of int and long, or of float and double; None for other unions."""
    kinds = {branch.kind if isinstance(branch, Primitive) and not branch.logical else "" for branch in union.branches}
    kinds.discard("null")
    for wider in ({"int", "long"}, {"float", "double"}):
        if kinds == wider:
            return Primitive(max(wider, key=("int", "float", "long", "double").index))
    return None


def _union(union: Union, path: str) -> DataType:
    branches = members(union)
    if not branches:
        return NullType()
    if len(branches) == 1:
        return spark_type(union.branches[branches[0]], path)
    if one := merged(union):
        return spark_type(one, path)
    # As Spark does: a column for each, of which one has a value.
    return StructType(
        [
            StructField(f"member{number}", spark_type(union.branches[place], f"{path}.member{number}"))
            for number, place in enumerate(branches)
        ]
    )


def _fields(record: Record, path: str) -> StructType:
    named = [(field, f"{path}.{field.name}" if path else field.name) for field in record.fields]
    return StructType([StructField(field.name, spark_type(field.type, at)) for field, at in named])


def _takes_no_bytes(schema: AvroType) -> bool:
    match schema:
        case Primitive(kind):
            return kind == "null"
        case Record(_, fields):
            return all(_takes_no_bytes(field.type) for field in fields)
    return False
