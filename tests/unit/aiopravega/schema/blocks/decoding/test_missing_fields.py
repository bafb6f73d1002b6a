"""JSON events without a field of each column are refused where a reader wants all."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.schema.json.columns.decoder import JsonDecoder
from aiopravega.schema.json.columns.missing import WholeDecoder
from aiopravega.schema.open.blocks.targets import JsonTarget

HOME = pa.struct([("city", pa.string()), ("zip", pa.int32())])
SCHEMA = pa.schema([("id", pa.float64()), ("home", HOME), ("stops", pa.list_(pa.field("element", HOME)))])
WHOLE = b'{"id":1,"home":{"city":"Rome","zip":1},"stops":[{"city":null,"zip":2}]}'


def decoded(payloads, schema=SCHEMA):
    block = JsonTarget(schema, whole=True).decoder(None).decode(payloads)
    batch = pa.RecordBatch.from_arrays(block.columns, schema=schema)
    batch.validate(full=True)
    return batch.to_pylist(), block.bad


@pytest.mark.parametrize(
    "event",
    [
        b'{"id":null,"home":null,"stops":null}',
        b' {"id":"NaN","home":{"zip":null,"city":null},"stops":[]}',
        b'{"id":NaN,"home":null,"stops":[null],"more":{}}',
        WHOLE,
    ],
)
def test_a_field_that_is_null_or_empty_is_there(payloads, event):
    rows, bad = decoded(payloads(event, WHOLE))

    assert not bad
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (b"{}", "id"),
        (b'{"id":1,"stops":[]}', "home"),
        (b'{"ID":1,"home":null,"stops":null}', "id"),
        (b'{"id":1,"home":{"zip":1},"stops":[]}', "home.city"),
        (b'{"id":1,"home":null,"stops":[null,{"city":"a","zip":1},{"city":"b"}]}', "stops.zip"),
    ],
)
def test_the_first_field_that_an_event_lacks_is_the_reason(payloads, event, field):
    rows, bad = decoded(payloads(WHOLE, b"{", event, WHOLE))

    assert len(rows) == 2
    assert bad[2] == f"it has no field {field!r} (missing_fields=fail)"
    assert set(bad) == {1, 2}


@given(st.lists(st.sampled_from([b'{"id":1}', b"{}", b'{"id":null}', b"{"]), max_size=9))
def test_rows_of_whole_events_are_those_without_the_rule(payloads, events):
    schema = pa.schema([("id", pa.int64())])
    rows, bad = decoded(payloads(*events), schema)

    assert set(bad) == {row for row, event in enumerate(events) if event in (b"{}", b"{")}
    assert [row["id"] for row in rows] == [1 if b"1" in event else None for event in events if b"id" in event]


def test_zeros_at_the_end_of_an_event_are_left_out():
    assert WholeDecoder(SCHEMA, JsonDecoder(SCHEMA)).trim(WHOLE + b"\0\0") == WHOLE
