"""Schemas as Java's serializers make them of generated classes: a descriptor set of the class's own file alone."""

import pyarrow as pa
import pytest
from google.protobuf import api_pb2, field_mask_pb2, source_context_pb2, type_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from tests.unit.aiopravega.schema.changes import version

from aiopravega.errors import ConfigurationError
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open import check
from aiopravega.schema.open.blocks.targets import ProtobufTarget
from aiopravega.schema.protobuf.descriptors import descriptor_of
from aiopravega.schema.serializers import ProtobufFormat

RUNTIME = {
    "any": "Any",
    "api": "Api",
    "descriptor": "DescriptorProto.ExtensionRange",
    "duration": "Duration",
    "empty": "Empty",
    "field_mask": "FieldMask",
    "source_context": "SourceContext",
    "struct": "Struct",
    "timestamp": "Timestamp",
    "type": "Type",
    "wrappers": "Int64Value",
}


def alone(file) -> bytes:
    """A set of one generated file."""
    return FileDescriptorSet(file=[FileDescriptorProto.FromString(file.serialized_pb)]).SerializeToString()


def importing(file: str, kind: str) -> bytes:
    """A set of one file, whose message has a field of a type that is imported."""
    made = FileDescriptorProto(name="m.proto", package="demo", syntax="proto3", dependency=[file])
    field = made.message_type.add(name="M").field.add(name="f", number=1, type_name=kind)
    field.type, field.label = FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.LABEL_OPTIONAL
    return FileDescriptorSet(file=[made]).SerializeToString()


@pytest.mark.parametrize(("name", "kind"), RUNTIME.items())
def test_imports_that_come_with_protobuf_need_not_be_there(name, kind):
    found = descriptor_of(importing(f"google/protobuf/{name}.proto", f".google.protobuf.{kind}"), "demo.M")
    of_field = found.fields_by_name["f"].message_type
    assert of_field is not None
    assert of_field.full_name == f"google.protobuf.{kind}"


@pytest.mark.parametrize(
    "value",
    [
        type_pb2.Type(
            name="t", fields=[type_pb2.Field(name="f", kind=type_pb2.Field.TYPE_INT32)], syntax=type_pb2.SYNTAX_PROTO3
        ),
        api_pb2.Api(
            name="a",
            methods=[api_pb2.Method(name="m")],
            source_context=source_context_pb2.SourceContext(file_name="a.proto"),
        ),
        field_mask_pb2.FieldMask(paths=["a.b"]),
    ],
)
def test_events_and_schemas_of_a_class_with_imports_are_read(value):
    kind = value.DESCRIPTOR
    data = alone(kind.file)
    form = ProtobufFormat.of_descriptors(data, kind.full_name)
    event = value.SerializeToString()

    read = form.reader()(event)

    assert type(value).FromString(read.SerializeToString()) == value
    schema = SchemaInfo.of(SchemaFormat.PROTOBUF, kind.full_name, data)
    assert not check(schema, [version(schema)], Compatibility(policy="Full")).violations
    block = ProtobufTarget.of(data, kind.full_name).decoder(None).decode(values_of([event], pa.binary()))
    assert not block.bad
    assert block.columns[0].to_pylist() == [getattr(value, kind.fields[0].name)]


def test_other_imports_are_asked_for_by_the_name_of_their_file():
    data = importing("shop/money.proto", ".shop.Money")
    with pytest.raises(ConfigurationError, match=r"lacks shop/money.proto, .* In Java, give it to ProtobufSchema.of"):
        ProtobufFormat.of_descriptors(data, "demo.M")
