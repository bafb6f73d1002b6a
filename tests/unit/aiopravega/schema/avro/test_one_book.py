"""What the check passes is read by single events and as columns, as the same values; what it refuses, it explains."""

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.unit.aiopravega.schema.avro.datums import NoValueError, datum, is_same, long
from tests.unit.aiopravega.schema.avro.pairs import pair
from tests.unit.aiopravega.schema.changes import changes, version

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.avro.model import AvroType, Record
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.open import check
from aiopravega.schema.open.blocks.targets import AvroTarget
from aiopravega.schema.policy import CompatibilityReport
from aiopravega.schema.serializers import AvroFormat

BACKWARD = Compatibility(policy="Backward")
EVENTS = 5


def report_of(writer: str, reader: str, *, as_columns: bool = False) -> CompatibilityReport:
    old, new = (SchemaInfo.of(SchemaFormat.AVRO, "made.up", text) for text in (writer, reader))
    return check(new, [version(old)], BACKWARD, as_columns=as_columns)


def datums_of(schema: AvroType, rng: Random) -> list[bytes]:
    try:
        return [datum(schema, rng) for _ in range(EVENTS)]
    except NoValueError:
        return []


def read_both_ways(writer: str, reader: str, events: list[bytes]) -> str:
    """Says by whom they were read."""
    try:
        single = AvroFormat(reader).reader(SchemaInfo.of(SchemaFormat.AVRO, "made.up", writer))
    except ConfigurationError as error:
        assert "has no value in Python" in str(error)
        return "columns only"
    values = [single(each) for each in events]
    if any(violation.rule.startswith("column-") for violation in report_of(writer, reader, as_columns=True).violations):
        return "single events only"
    target = AvroTarget.of(reader)
    block = target.decoder(writer.encode()).decode(values_of(events, pa.binary()))
    assert not block.bad
    rows = pa.RecordBatch.from_arrays(block.columns, schema=target.schema).to_pylist()
    schema = parse(reader)
    columns = rows if isinstance(schema, Record) else [row["value"] for row in rows]
    for value, column in zip(values, columns, strict=True):
        assert is_same(schema, value, column), (value, column)
    return "single events and columns"


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_what_passes_is_read_both_ways_and_what_is_refused_is_explained(seed):
    writer, reader = map(json.dumps, pair(seed))
    report = report_of(writer, reader)
    if report.compatible:
        event(f"read by {read_both_ways(writer, reader, datums_of(parse(writer), Random(seed)))}")
    for violation in report.violations:
        assert violation.path
        assert violation.rule
        assert violation.remedy
    event(f"compatible: {report.compatible}")


@pytest.mark.parametrize("change", changes(SchemaFormat.AVRO), ids=lambda change: change.name)
def test_every_change_of_the_table_that_passes_is_read_both_ways(change):
    for writer, reader, direction in ((change.old, change.new, "backward"), (change.new, change.old, "forward")):
        if not change.expected[direction]:
            read_both_ways(writer.text, reader.text, datums_of(parse(writer.text), Random(1)))


def record(*fields, name="R"):
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


A = {"name": "a", "type": "int"}


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_default_that_json_has_no_number_for_is_read_as_that_number(kind, text):
    reader = record(A, {"name": "b", "type": kind, "default": text})
    assert report_of(record(A), reader).compatible
    read_both_ways(record(A), reader, [b"\x02"])
    value = AvroFormat(reader).reader(SchemaInfo.of(SchemaFormat.AVRO, "R", record(A)))(b"\x02")["b"]
    assert str(value) == str(float(text))


def test_a_default_date_that_python_does_not_have_is_refused_by_name():
    reader = record(A, {"name": "b", "type": {"type": "int", "logicalType": "date"}, "default": 86_399_999})
    with pytest.raises(ConfigurationError, match="the default 86399999 of field 'b' has no value in Python"):
        AvroFormat(reader).reader(SchemaInfo.of(SchemaFormat.AVRO, "R", record(A)))


def test_a_fixed_type_of_no_bytes_is_read():
    schema = record(A, {"name": "b", "type": {"type": "fixed", "name": "F", "size": 0}})
    assert report_of(schema, schema).compatible
    read_both_ways(schema, schema, [b"\x02", b"\x04"])


def test_a_union_of_no_types_has_no_value_but_harms_no_other():
    writer, reader = record(A, {"name": "b", "type": ["null", {"type": "array", "items": []}]}), record(A)
    assert report_of(writer, reader).compatible
    read_both_ways(writer, reader, [b"\x02\x00", b"\x02\x02\x00"])
    assert not report_of(record(A), record({"name": "a", "type": []})).compatible


def test_an_alias_that_fits_two_fields_is_refused_and_read_by_the_name():
    writer = record(A, {"name": "b", "type": "int"})
    reader = record({"name": "b", "type": "int", "aliases": ["a"]})
    assert [(violation.path, violation.rule) for violation in report_of(writer, reader).violations] == [
        ("R.b", "alias-ambiguous")
    ]
    read_both_ways(writer, reader, [b"\x02\x04"])
    beside = record({"name": "c", "type": "int", "aliases": ["a"], "default": 5}, A)
    assert [(violation.path, violation.rule) for violation in report_of(record(A), beside).violations] == [
        ("R.c", "alias-ambiguous")
    ]
    read_both_ways(record(A), beside, [b"\x02"])


LIMITS: list[tuple[list[Any], str, str]] = [
    ([A, {"name": "b", "type": ["null", "R"], "default": None}], "R.b", "column-recursion"),
    ([{"name": "b", "type": {"type": "bytes", "logicalType": "decimal", "precision": 40}}], "R.b", "column-digits"),
    ([{"name": "b", "type": {"type": "array", "items": "null"}}], "R.b", "column-endless"),
]


@pytest.mark.parametrize(("fields", "path", "rule"), LIMITS, ids=[rule for *_, rule in LIMITS])
def test_what_columns_cannot_hold_is_found_only_if_one_asks(fields, path, rule):
    schema = record(*fields)
    assert report_of(schema, schema).compatible
    report = report_of(schema, schema, as_columns=True)
    assert [(violation.path, violation.rule) for violation in report.violations] == [(path, rule)]
    with pytest.raises(ConfigurationError, match="cannot be columns"):
        AvroTarget.of(schema)


def test_a_first_schema_that_cannot_be_columns_is_found_too():
    schema = SchemaInfo.of(SchemaFormat.AVRO, "R", record(*LIMITS[0][0]))
    assert check(schema, [], BACKWARD).compatible
    assert [violation.rule for violation in check(schema, [], BACKWARD, as_columns=True).violations] == [
        "column-recursion"
    ]


def test_what_columns_cannot_skip_is_found_in_the_schema_of_the_writer():
    writer = record(A, {"name": "b", "type": ["null", "R"], "default": None})
    assert [violation.rule for violation in report_of(writer, record(A), as_columns=True).violations] == [
        "column-recursion"
    ]
    assert AvroTarget.of(record(A)).decoder(writer.encode()).decode(values_of([b"\x02\x00"], pa.binary())).bad


def test_columns_are_asked_of_avro_only():
    with pytest.raises(ConfigurationError, match="as_columns is for Avro"):
        check(SchemaInfo.of(SchemaFormat.JSON, "R", "{}"), [], BACKWARD, as_columns=True)


@pytest.mark.parametrize(("kind", "logical", "good"), [("int", "time-millis", 86_399_999), ("long", "time-micros", 7)])
def test_a_plain_number_is_a_time_of_day_or_refused(kind, logical, good):
    reader = json.dumps({"type": kind, "logicalType": logical})
    read = AvroFormat(reader).reader(SchemaInfo.of(SchemaFormat.AVRO, "made.up", json.dumps(kind)))
    assert [violation.rule for violation in report_of(json.dumps(kind), reader).violations] == ["logical-type-changed"]
    since_midnight = timedelta(microseconds=good * (1000 if kind == "int" else 1))
    assert read(long(good)) == (datetime(1970, 1, 1, tzinfo=UTC) + since_midnight).time()
    for bad in (-7, 86_400_000_000):
        with pytest.raises(MalformedEventError, match=f"the number {bad} is read as a time of day"):
            read(long(bad))
