"""Columns as SQL writes them: the types that they name, and what is refused."""

import pyarrow as pa
import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from aiopravega.schema.arrow.sql_columns import columns_of


def test_types_are_those_of_spark_in_any_case_and_spacing():
    found = columns_of(
        "id LONG,price Decimal( 10 ,2 ) COMMENT 'net, in EUR',`a ``b` varchar(3), n numeric(5), d dec, day date,\n"
        "at timestamp, local: timestamp_ntz, tags array<array<int>>, m map<string, struct<a: int, b float>>, raw binary"
    )

    assert found == pa.schema(
        [
            ("id", pa.int64()),
            ("price", pa.decimal128(10, 2)),
            ("a `b", pa.string()),
            ("n", pa.decimal128(5, 0)),
            ("d", pa.decimal128(10, 0)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("local", pa.timestamp("us")),
            ("tags", list_of(list_of(pa.int32()))),
            ("m", pa.map_(pa.string(), pa.struct([("a", pa.int32()), ("b", pa.float32())]))),
            ("raw", pa.binary()),
        ]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the name of a column is missing"),
        ("id", "a type is missing after 'id'"),
        ("id int,", "the name of a column is missing after 'id int,'"),
        ("id int4", r"'int4' is not a type; known are boolean.*struct<name: type"),
        ("id int price int", "'price' is not expected after 'id int'"),
        ("id int, ID long", "column 'id' is there more than once"),
        ("s struct<a: int", "'>' is missing"),
        ("id int not null", "column 'id' may not be NOT NULL: a field that an event lacks is null"),
        ("d decimal(39,1)", "1 to 38 digits"),
        ("d decimal(2,3)", "1 to 38 digits"),
        ("d decimal(x)", "a number is missing"),
        ("id int comment", "the text of a comment is missing"),
        ("a-b int", "'-' is not a type"),
        ("a int, `b", "the name of a column is missing"),
        ('{"type":"object"}', "Columns are written as in SQL: id long, price decimal"),
    ],
)
def test_texts_that_are_no_columns_are_refused_with_the_place(text, said):
    with pytest.raises(ConfigurationError, match=said):
        columns_of(text)
