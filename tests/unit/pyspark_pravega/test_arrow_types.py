"""Types of columns, from Spark's to Arrow's and back."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    DecimalType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pyspark_pravega.arrow_types import arrow_schema, spark_schema


def test_the_way_to_arrow_and_back_changes_no_type():
    nested = StructType().add("clock", TimestampNTZType()).add("seen", ArrayType(TimestampType()))
    kinds = [TimestampType(), TimestampNTZType(), DateType(), StringType(), BinaryType(), DecimalType(38, 9)]
    columns = StructType().add("nested", nested)
    for number, kind in enumerate([*kinds, LongType(), ArrayType(TimestampNTZType())]):
        columns = columns.add(f"column{number}", kind)

    assert spark_schema(arrow_schema(columns)).simpleString() == columns.simpleString()
