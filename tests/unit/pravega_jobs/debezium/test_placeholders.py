"""Values that a change has not touched, in each form that Debezium gives them: never data, and always named."""

import base64

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.events import change, columns, enclosed

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from pravega_jobs.debezium.changes.meanings import INSTANT, TIMESTAMP

TEXT = "__debezium_unavailable_value"
NUMBERS = list(TEXT.encode())
UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
EACH_IN_BASE64 = [base64.b64encode(bytes([byte])).decode() for byte in NUMBERS]
NAME, PRICE = pa.string(), pa.decimal128(38, 0)
PAIRS = pa.struct([("a", NAME), ("b", NAME)])
ABOUT = ("_op", "_unchanged")


@pytest.mark.parametrize(
    ("kind", "unsent", "sent", "read"),
    [
        (list_of(pa.int32()), NUMBERS, NUMBERS[:-1], NUMBERS[:-1]),
        (list_of(pa.int64()), NUMBERS, [*NUMBERS, None], [*NUMBERS, None]),
        (list_of(pa.int16()), NUMBERS, [None, *NUMBERS[1:]], [None, *NUMBERS[1:]]),
        (list_of(pa.date32()), NUMBERS, NUMBERS[::-1], None),
        (list_of(TIMESTAMP), NUMBERS, [1359676799123456] * len(NUMBERS), None),
        (list_of(pa.float64()), [float(byte) for byte in NUMBERS], [0.5, None], [0.5, None]),
        (list_of(PRICE), EACH_IN_BASE64, EACH_IN_BASE64[:-1], NUMBERS[:-1]),
        (list_of(PRICE), [{"scale": 0, "value": each} for each in EACH_IN_BASE64], [], []),
        (list_of(NAME), [UUID], ["b68a35a7-17ad-35b3-af2a-ae46edb4545b"], ["b68a35a7-17ad-35b3-af2a-ae46edb4545b"]),
        (list_of(NAME), [TEXT], ["_", None], ["_", None]),
        (list_of(pa.binary()), [base64.b64encode(TEXT.encode()).decode()], ["AA=="], [b"\0"]),
        (NAME, f'{{"{TEXT}":"{TEXT}"}}', '{"a":"b"}', '{"a":"b"}'),
        (NAME, TEXT, UUID, UUID),
        (pa.binary(), TEXT.encode().hex(), "AA==", b"\0"),
        (INSTANT, TEXT, "2024-02-29T00:00:00Z", None),
        (PAIRS, {TEXT: TEXT}, {"a": "x", TEXT: "mine"}, {"a": "x", "b": None}),
    ],
)
def test_a_value_that_was_not_sent_is_named_in_each_form(upserts, kind, unsent, sent, read):
    kinds = columns(id=pa.int32(), v=kind)
    events = [change("u", after={"id": number, "v": value}) for number, value in enumerate((sent, unsent, None))]

    block, rows = upserts(kinds, events, about=ABOUT, time_precision="us", decimals="base64")

    assert not block.bad
    assert [row["_unchanged"] for row in rows] == [[], ["v"], []]
    assert [row["v"] for row in rows[1:]] == [None, None]
    assert rows[0]["v"] == read if read is not None else rows[0]["v"]


def test_a_value_that_was_not_sent_is_named_with_a_schema(upserts):
    date = {"type": "int32", "name": "io.debezium.time.Date", "optional": True}
    ident = {"type": "string", "name": "io.debezium.data.Uuid", "optional": True}
    fields = {
        "id": {"type": "int32"},
        "days": {"type": "array", "items": date},
        "ids": {"type": "array", "items": ident},
    }
    events = [
        enclosed(fields, change("u", after={"id": number, "days": days, "ids": ids}))
        for number, (days, ids) in enumerate(((NUMBERS, [UUID]), ([15736], [None])))
    ]

    block, rows = upserts(events[0], events, about=ABOUT)

    assert not block.bad
    assert rows[0] | {"id": 0} == {"id": 0, "days": None, "ids": None, "_op": "u", "_unchanged": ["days", "ids"]}
    assert [day.isoformat() for day in rows[1]["days"]] == ["2013-01-31"]


@pytest.mark.parametrize("given", ["(none)", "hex:286e6f6e6529"])
def test_another_placeholder_is_known_by_the_option(upserts, given):
    kinds = columns(id=pa.int32(), t=NAME, n=list_of(pa.int32()))
    other = {"id": 1, "t": "(none)", "n": list(b"(none)")}
    usual = {"id": 2, "t": TEXT, "n": NUMBERS}

    _, rows = upserts(
        kinds, [change("u", after=each) for each in (other, usual)], about=ABOUT, unavailable_placeholder=given
    )

    assert rows[0] == {"id": 1, "t": None, "n": None, "_op": "u", "_unchanged": ["t", "n"]}
    assert rows[1] == usual | {"_op": "u", "_unchanged": []}


@pytest.mark.parametrize("given", ["", "hex:", "hex:4", "hex:zz"])
def test_a_placeholder_that_is_none_is_refused(upserts, given):
    with pytest.raises(ConfigurationError, match="option 'unavailable_placeholder'"):
        upserts(columns(id=pa.int32()), [], unavailable_placeholder=given)
