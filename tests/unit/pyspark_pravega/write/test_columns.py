"""A DataFrame's columns are checked before a write starts."""

import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from aiopravega.errors import ConfigurationError
from pyspark_pravega.write.columns import SinkColumns

TEXT, BYTES, NUMBER = StringType(), BinaryType(), LongType()


def schema(**columns: StringType | BinaryType | LongType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize("kind", [TEXT, BYTES])
def test_an_event_is_text_or_binary(kind: StringType | BinaryType) -> None:
    found = SinkColumns.find(schema(event=kind))

    assert (found.event, found.routing_key) == ((0,), None)


@pytest.mark.parametrize("key", [True, False])
def test_rows_have_keys_if_there_is_a_column_of_them(key: bool) -> None:
    schema = StructType().add("event", BinaryType())

    assert SinkColumns.find(schema.add("routing_key", StringType()) if key else schema).keyed == key


def test_columns_are_found_in_any_order() -> None:
    found = SinkColumns.find(schema(routing_key=TEXT, event=BYTES))

    assert (found.event, found.routing_key) == ((1,), (0,))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({}, "'event' is missing, there are no columns"),
        ({"routing_key": TEXT}, "'event' is missing, there are routing_key"),
        ({"event": NUMBER}, r"'event' is bigint.*to_json\(struct"),
        ({"event": TEXT, "routing_key": BYTES}, "'routing_key' is binary.*cast it to string"),
        ({"event": TEXT, "amount": NUMBER}, r"'amount' \(bigint\) is not part of a write.*to_json"),
    ],
)
def test_other_columns_are_refused_with_name_type_and_remedy(
    columns: dict[str, StringType | BinaryType | LongType], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        SinkColumns.find(schema(**columns))
