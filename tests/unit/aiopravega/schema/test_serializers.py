"""Formats of single events, without a registry: what fits is read again, what does not is named in the error."""

import json
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from aiopravega.errors import ConfigurationError, InvalidSchemaError, MalformedEventError
from aiopravega.schema import SchemaFormat, codec_named
from aiopravega.schema.protobuf.descriptors import descriptor_of
from aiopravega.schema.registry.codecs import HEADER_BYTES, header
from aiopravega.schema.serializers import AvroFormat, CustomFormat, JsonFormat, ProtobufFormat

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "java-serializers.json").read_text())
USER = AvroFormat(VECTORS["avro_schema"])
ANYTHING = JsonFormat("{}", "anything")
MOMENT = ProtobufFormat(timestamp_pb2.Timestamp)
HEAD = header(3)


class Measured(BaseModel):
    at: str | None
    values: list[float]


class MeasuredTexts(Measured, ser_json_inf_nan="strings"):
    pass


def forms(name: str):
    return {"Avro": USER, "Json": ANYTHING, "Protobuf": MOMENT}[name]


@pytest.mark.parametrize("event", VECTORS["events"], ids=lambda event: f"{event['format']}-{event['codec'] or 'plain'}")
def test_what_java_wrote_is_read_trailing_zeros_included(event):
    raw = bytes.fromhex(event["hex"])
    skip = 0 if event["encoding_id"] is None else HEADER_BYTES
    if event["codec"]:
        raw, skip = codec_named(event["codec"]).decompress(raw[HEADER_BYTES:]), 0

    value = forms(event["format"]).reader(None, skip)(raw)

    if event["format"] == "Protobuf":
        assert value == timestamp_pb2.Timestamp(seconds=7, nanos=9)
    else:
        assert value == {"id": 7, "name": "alice"}


def test_what_is_written_without_codec_are_the_bytes_of_java():
    plain = [event for event in VECTORS["events"] if event["codec"] == ""]

    for event in plain:
        value = (
            timestamp_pb2.Timestamp(seconds=7, nanos=9) if event["format"] == "Protobuf" else {"id": 7, "name": "alice"}
        )
        assert forms(event["format"]).writer(header(0))(value).hex() == event["hex"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda some: st.lists(some) | st.dictionaries(st.text(), some),
    )
)
def test_json_comes_back_with_header_and_zeros(value):
    event = ANYTHING.writer(HEAD)(value)

    assert ANYTHING.reader(None, HEADER_BYTES)(event) == value
    assert ANYTHING.reader(None, HEADER_BYTES)(event + bytes(9)) == value
    assert ANYTHING.reader()(b" \n" + event[HEADER_BYTES:] + b"\t") == value


@given(st.integers(-(2**31), 2**31 - 1), st.text())
def test_avro_comes_back_with_header_and_zeros(number, text):
    event = USER.writer(HEAD)({"id": number, "name": text})

    assert USER.reader(None, HEADER_BYTES)(event) == {"id": number, "name": text}
    assert USER.reader(None, HEADER_BYTES)(event + bytes(9)) == {"id": number, "name": text}


@given(st.integers(-(10**11), 10**11), st.integers(0, 10**9 - 1))
def test_protobuf_comes_back_with_header_and_zeros(seconds, nanos):
    value = timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)
    event = MOMENT.writer(HEAD)(value)

    assert MOMENT.reader(None, HEADER_BYTES)(event) == value
    assert MOMENT.reader(None, HEADER_BYTES)(event + bytes(9)) == value


@pytest.mark.parametrize("form", [USER, ANYTHING, MOMENT], ids=lambda form: form.info.type)
@given(payload=st.binary(max_size=40))
def test_nonsense_is_a_malformed_event_or_a_value_but_nothing_else(form, payload):
    try:
        form.reader()(payload)
    except MalformedEventError as error:
        assert str(error)  # it says why


@pytest.mark.parametrize(
    ("form", "value", "said"),
    [
        (USER, {"id": "seven", "name": "a"}, "does not fit its Avro schema"),
        (USER, {"id": 7}, "does not fit its Avro schema.*name"),
        (AvroFormat(VECTORS["avro_schema"], validate=True), {"id": 2**40, "name": "a"}, "does not fit its Avro schema"),
        (USER, "alice", "does not fit its Avro schema"),
        (ANYTHING, {"a": b"bytes"}, "cannot be JSON"),
        (ANYTHING, {"a": [float("nan")]}, "cannot be JSON: Out of range float values"),
        (JsonFormat.of_model(Measured), Measured(at=None, values=[0.5, float("inf")]), "ser_json_inf_nan='strings'"),
        (MOMENT, {"seconds": 7}, "it is dict, not google.protobuf.Timestamp"),
        (JsonFormat({"type": "object", "required": ["id"]}, "user", validate=True), {}, r"\$: 'id' is a required"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(form, value, said):
    with pytest.raises(ConfigurationError, match=said):
        form.writer(HEAD)(value)


@pytest.mark.parametrize(
    ("form", "payload", "said"),
    [
        (USER, b"", "not a datum of its Avro schema"),
        (USER, b"\x0e\x0aali", "not a datum of its Avro schema"),
        (USER, b"\x0e\x02aX", "bytes follow the end"),
        (ANYTHING, b"{} {}", "bytes follow the end|not JSON"),
        (ANYTHING, b'{"a"', "not JSON"),
        (ANYTHING, b'"\xff"', "not JSON"),
        (MOMENT, b"\x08", "not a message of type google.protobuf.Timestamp"),
        (JsonFormat('{"type":"integer"}', "number", validate=True), b'"x"', "does not fit its JSON Schema"),
        (JsonFormat('{"$ref":"#/$defs/x"}', "number", validate=True), b"1", "to something outside of it"),
        (
            JsonFormat('{"$ref":"http://127.0.0.1:9/x"}', "number", validate=True),
            b"1",
            "a reference to something outside",
        ),
    ],
)
def test_a_payload_that_does_not_fit_is_malformed(form, payload, said):
    with pytest.raises(MalformedEventError, match=said):
        form.reader(None, HEADER_BYTES)(HEAD + payload)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AvroFormat("{"), "not JSON"),
        (lambda: AvroFormat('{"type":"record"}'), "cannot be parsed"),
        (lambda: AvroFormat('"demo.Unknown"'), "cannot be parsed"),
        (lambda: JsonFormat("{", "a"), "not JSON"),
        (lambda: JsonFormat("[]", "a"), "not an object"),
        (lambda: JsonFormat('{"type":"nonsense"}', "a", validate=True), "the JSON Schema is not valid"),
        (lambda: ProtobufFormat.of_descriptors(b"nonsense"), "not a descriptor set"),
        (lambda: ProtobufFormat.of_descriptors(b""), "has the messages none"),
    ],
)
def test_a_schema_that_is_not_valid_is_refused(make, said):
    with pytest.raises((ConfigurationError, InvalidSchemaError), match=said):
        make()


def test_an_avro_schema_has_its_own_name():
    assert USER.info.type == "demo.User"
    assert AvroFormat('{"type":"enum","name":"a.Colour","symbols":["RED"]}').info.type == "a.Colour"
    assert AvroFormat('"int"').info.type == "int"


def test_the_readers_schema_of_avro_fills_in_what_the_writer_lacks():
    reader = AvroFormat(
        {
            "type": "record",
            "name": "User",
            "fields": [{"name": "id", "type": "long"}, {"name": "x", "type": "int", "default": 5}],
        }
    )
    event = USER.writer()({"id": 7, "name": "alice"})

    assert reader.reader(USER.info)(event) == {"id": 7, "x": 5}
    with pytest.raises(MalformedEventError, match="does not fit the one that is read with"):
        AvroFormat('{"type":"record","name":"User","fields":[{"name":"z","type":"int"}]}').reader(USER.info)(event)


def test_the_descriptors_of_a_class_bring_what_they_import():
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    field = descriptor_pb2.FieldDescriptorProto
    file.message_type.add(name="A").field.add(
        name="at", number=1, type=field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=field.LABEL_OPTIONAL
    )
    made = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    form = ProtobufFormat(message_factory.GetMessageClass(descriptor_of(made, "a.A")))

    names = [one.name for one in descriptor_pb2.FileDescriptorSet.FromString(form.info.schema_data).file]

    assert names == ["google/protobuf/timestamp.proto", "a.proto"]
    again = ProtobufFormat.of_descriptors(form.info.schema_data, "a.A")
    value = form.message(at={"seconds": 5})
    assert again.message.FromString(value.SerializeToString()) == again.message(at={"seconds": 5})


class User(BaseModel):
    id: int
    name: str = "nobody"


def test_models_of_pydantic_are_checked_on_both_sides():
    form = JsonFormat.of_model(User)
    event = form.writer(HEAD)(User(id=7))

    assert form.reader(None, HEADER_BYTES)(event + bytes(3)) == User(id=7)
    assert form.info.type == "User"
    with pytest.raises(ConfigurationError, match="it is dict"):
        form.writer()({"id": 7})
    with pytest.raises(MalformedEventError, match="it is not a User"):
        form.reader()(b'{"id":"x"}')


def test_models_that_write_infinities_as_texts_read_them():
    form, value = JsonFormat.of_model(MeasuredTexts), MeasuredTexts(at=None, values=[float("-inf")])

    assert form.writer()(value) == b'{"at":null,"values":["-Infinity"]}'
    assert form.reader()(form.writer()(value)) == value
    assert form.reader()(form.writer()(MeasuredTexts(at=None, values=[]))).at is None


def test_what_functions_of_a_custom_format_raise_has_a_cause():
    form = CustomFormat("my.format", "x", b"", lambda value: value["bytes"], lambda payload, _: 1 // len(payload))

    assert (form.info.format, form.info.name_of_format) == (SchemaFormat.CUSTOM, "my.format")
    with pytest.raises(ConfigurationError, match="my.format: KeyError"):
        form.writer()({})
    with pytest.raises(MalformedEventError, match="my.format: ZeroDivisionError") as raised:
        form.reader()(b"")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("name", ["Avro", "Json", "Protobuf"])
def test_lists_are_as_their_items_one_by_one(name):
    form = forms(name)
    values = [
        timestamp_pb2.Timestamp(seconds=number) if name == "Protobuf" else {"id": number, "name": "x"}
        for number in range(3)
    ]

    events = form.list_writer(HEAD)(values)

    assert events == [*map(form.writer(HEAD), values)]
    assert form.list_reader(None, HEADER_BYTES)(events) == values
    assert form.list_reader(None, HEADER_BYTES)([events[0], events[1] + bytes(9)]) == values[:2]
    with pytest.raises(MalformedEventError):
        form.list_reader(None, HEADER_BYTES)([events[0], HEAD + b"\x0e"])
    with pytest.raises(ConfigurationError):
        form.list_writer(HEAD)([values[0], object()])
