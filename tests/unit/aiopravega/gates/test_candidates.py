"""Candidates: schemas out of files, classes, and columns of Spark and Arrow."""

import dataclasses
import json

import pyarrow as pa
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel
from pyspark.sql import types as T  # noqa: N812 - as Spark's own pages have it
from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.gates.candidates import from_class, from_columns, from_file, object_named
from aiopravega.schema import SchemaFormat
from pyspark_pravega.arrow_types import arrow_schema

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order { int64 id = 1; google.protobuf.Timestamp at = 2; }
"""
AVRO = '{"type": "record", "name": "Order", "namespace": "shop", "fields": []}'
COLUMNS = (
    StructType()
    .add("id", T.LongType(), nullable=False)
    .add("price", T.DecimalType(10, 2))
    .add("at", T.TimestampType())
    .add("day", T.DateType())
    .add("wall", T.TimestampNTZType())
    .add("flag", T.BooleanType())
    .add("raw", T.BinaryType())
    .add("small", T.ByteType())
    .add("short", T.ShortType())
    .add("number", T.IntegerType())
    .add("part", T.FloatType())
    .add("total", T.DoubleType())
    .add("tags", T.ArrayType(T.StringType()))
    .add("sizes", T.MapType(T.StringType(), T.IntegerType()))
    .add("who", StructType().add("points", T.ArrayType(StructType().add("x", T.IntegerType()))))
)


class Order(BaseModel):
    id: int
    note: str = ""


@dataclasses.dataclass
class Point:
    x: int


@pytest.mark.parametrize("name", ["order.avsc", "order.json"])
def test_an_avro_schema_has_its_own_name(tmp_path, name) -> None:
    file = tmp_path / name
    file.write_text(AVRO)
    schema = from_file(file)
    assert (schema.format, schema.type, schema.text) == (SchemaFormat.AVRO, "shop.Order", AVRO)


def test_a_json_schema_has_the_type_that_the_group_has(tmp_path) -> None:
    file = tmp_path / "order.json"
    file.write_text('{"type": "object"}')
    assert (from_file(file).format, from_file(file).type) == (SchemaFormat.JSON, "")
    assert from_file(file, "Order").type == "Order"


def test_a_proto_file_is_compiled_with_its_imports(tmp_path) -> None:
    (tmp_path / "order.proto").write_text(PROTO)
    compiled = from_file(tmp_path / "order.proto")
    assert (compiled.format, compiled.type) == (SchemaFormat.PROTOBUF, "shop.Order")

    (tmp_path / "order.desc").write_bytes(compiled.schema_data)
    assert from_file(tmp_path / "order.desc") == compiled
    with pytest.raises(InvalidSchemaError, match="no message shop.Nope; it has google.protobuf.Timestamp, shop.Order"):
        from_file(tmp_path / "order.desc", "shop.Nope")


@pytest.fixture
def roots(tmp_path):
    """Two roots of a project; `shop/order.proto` of the first imports what both have, and what only the second has."""
    files = {
        "api/shop/order.proto": 'import "shop/item.proto"; import public "common/money.proto"; '
        'import "google/protobuf/timestamp.proto"; '
        "message Order { Item item = 1; common.Money price = 2; google.protobuf.Timestamp at = 3; }",
        "api/shop/item.proto": "message Item { string first = 1; }",
        "lib/shop/item.proto": "message Item { string elsewhere = 1; }",
        "lib/common/money.proto": "package common; message Money { int64 cents = 1; }",
        "lib/far.proto": "message Far { int32 id = 1; }",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        package = "" if "package" in text else "package shop; " if "shop/" in name else ""
        imports, _, rest = text.rpartition("; message")
        body = f"{imports}; {package}message{rest}" if imports and not imports.startswith("package") else package + text
        file.write_text(f'syntax = "proto3"; {body}')
    return tmp_path / "api", tmp_path / "lib"


def test_imports_from_the_roots_of_a_project_are_found_in_their_order(roots) -> None:
    api, lib = roots
    order = api / "shop" / "order.proto"
    compiled = from_file(order, "shop.Order", [api, lib])
    assert b"first" in compiled.schema_data
    assert b"elsewhere" not in compiled.schema_data
    assert b"cents" in compiled.schema_data
    for root in ([lib], lib, str(lib)):
        assert from_file(lib / "far.proto", proto_path=root).type == "Far"


def test_a_file_behind_links_has_the_name_of_its_link(tmp_path) -> None:
    # As Kubernetes mounts a ConfigMap: each mount has another folder behind the links.
    for folder in ("2026_a", "2026_b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.proto").write_text(PROTO)
    for given in ([], [tmp_path], [tmp_path / "2026_a" / ".."]):
        found = []
        for folder in ("2026_a", "2026_b"):
            link, file = tmp_path / "..data", tmp_path / "k.proto"
            link.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            link.symlink_to(folder)
            file.symlink_to("..data/k.proto")
            found.append(from_file(file, proto_path=given).schema_data)
        assert found[0] == found[1]
        assert b"\x07k.proto" in found[0]


def test_an_import_that_is_not_found_names_the_roots_and_the_ways_out(roots) -> None:
    api, lib = roots
    order = api / "shop" / "order.proto"
    with pytest.raises(InvalidSchemaError, match=f"looked for in {order.parent}: .* --proto-path .* descriptor set"):
        from_file(order)
    with pytest.raises(InvalidSchemaError, match=f"were looked for in {api}: name the folder"):
        from_file(order, proto_path=[api])
    with pytest.raises(ConfigurationError, match=f"lies in no folder of --proto-path .{lib}."):
        from_file(order, proto_path=[lib])
    with pytest.raises(ConfigurationError, match="none, which is not a folder"):
        from_file(order, proto_path=[api / "none"])


@pytest.mark.parametrize(
    ("name", "content", "error", "said"),
    [
        ("a.avsc", "{", InvalidSchemaError, "is not JSON"),
        ("a.proto", "message", InvalidSchemaError, "cannot be compiled"),
        ("a.desc", "nonsense", InvalidSchemaError, "not a Protobuf descriptor set"),
        ("a.txt", "", ConfigurationError, "does not have the ending of a schema"),
    ],
)
def test_a_file_that_is_no_schema_is_refused_by_its_name(tmp_path, name, content, error, said) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(error, match=said) as raised:
        from_file(tmp_path / name)
    assert name in str(raised.value)
    with pytest.raises(ConfigurationError, match="cannot read"):
        from_file(tmp_path / "missing.json")


def test_classes_become_json_schemas_by_which_they_read() -> None:
    schema = json.loads(from_class(Order).text)
    assert (sorted(schema["properties"]), schema["required"]) == (["id", "note"], ["id"])
    assert json.loads(from_class(Point).text)["required"] == ["x"]
    assert object_named(f"{dataclasses.__name__}.Field") is dataclasses.Field


def test_a_generated_message_becomes_its_descriptors() -> None:
    schema = from_class(Timestamp)
    assert (schema.format, schema.type) == (SchemaFormat.PROTOBUF, "google.protobuf.Timestamp")


def test_a_class_without_a_schema_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="int has no schema"):
        from_class(int)
    with pytest.raises(ConfigurationError, match="neither a file with a schema nor a class"):
        object_named("no.such.Thing")


def test_columns_of_spark_and_arrow_become_the_schema_that_spark_writes() -> None:
    by_spark = from_columns(COLUMNS, "shop.orders-eu")
    by_arrow = from_columns(arrow_schema(COLUMNS), "shop.orders-eu")

    assert by_spark.type == by_arrow.type == "shop.orders_eu"
    assert json.loads(by_spark.text) == json.loads(by_arrow.text)


def test_columns_become_json_schemas_too() -> None:
    document = json.loads(from_columns(COLUMNS, "orders", SchemaFormat.JSON).text)

    assert document["properties"]["id"] == {"type": ["integer", "null"]}
    assert document["properties"]["day"] == {"type": ["string", "null"], "format": "date"}
    assert document["properties"]["tags"]["items"] == {"type": ["string", "null"]}
    assert document["properties"]["who"]["properties"]["points"]["type"] == ["array", "null"]


def test_columns_that_a_format_cannot_have_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no field numbers"):
        from_columns(COLUMNS, "orders", SchemaFormat.PROTOBUF)
    for columns in (StructType().add("a b", T.IntegerType()), pa.schema([("a b", pa.int32())])):
        with pytest.raises(ConfigurationError, match="rename it"):
            from_columns(columns, "orders")
    with pytest.raises(ConfigurationError, match="cast it"):
        from_columns(StructType().add("a", T.DayTimeIntervalType()), "orders")
