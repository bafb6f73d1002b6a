"""Values: what must never be guessed, and never lose a digit."""

import base64
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.events import MARIA, change, columns, enclosed

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.meanings import INSTANT, TIMESTAMP, columns_of


def test_the_precision_of_times_is_not_guessed(upserts):
    at = columns(id=pa.int32(), at=TIMESTAMP)
    millis, micros = change(after={"id": 1, "at": 1359676799123}), change(after={"id": 2, "at": 1359676799123456})

    with pytest.raises(ConfigurationError, match="time_precision"):
        upserts(at, [millis, micros])
    with pytest.raises(ConfigurationError, match="time_precision"):
        upserts(at, [change(after={"id": 1, "at": 86_400_000})])

    first, second = upserts(at, [millis])[1][0]["at"], upserts(at, [micros])[1][0]["at"]
    assert second - first == timedelta(microseconds=456)
    assert upserts(at, [micros], time_precision="us")[1][0]["at"] == second

    no_end = change(after={"id": 3, "at": 253402300799999})
    with pytest.raises(ConfigurationError, match="time_precision"):
        upserts(at, [no_end])
    assert [row["at"].year for row in upserts(at, [millis, no_end])[1]] == [2013, 9999]


def test_digits_and_base64_are_not_confused(upserts):
    price = columns(id=pa.int32(), price=pa.decimal128(10, 2))

    def events(*texts):
        return [change(after={"id": number, "price": text}) for number, text in enumerate(texts)]

    def prices(*texts, **options):
        return [row["price"] for row in upserts(price, events(*texts), **options)[1]]

    ambiguous = "1234"
    as_base64 = Decimal(int.from_bytes(base64.b64decode(ambiguous), "big", signed=True)).scaleb(-2)
    assert prices("9.99", ambiguous) == [Decimal("9.99"), Decimal("1234.00")]
    assert prices("A+c=", ambiguous) == [Decimal("9.99"), as_base64]
    assert prices(ambiguous, decimals="digits") == [Decimal("1234.00")]
    assert prices(ambiguous, decimals="base64") == [as_base64]
    for texts in ((ambiguous,), ("9.99", "A+c=")):
        with pytest.raises(ConfigurationError, match="option decimals"):
            prices(*texts)


def test_nan_and_infinity_are_values_of_doubles_and_of_nothing_else(upserts):
    kinds = columns(id=pa.int32(), x=pa.float64(), n=pa.decimal128(5, 2))
    events = [change(after={"id": number, "x": 0.5 * number, "n": 1.5}) for number in range(100)]
    events[7] = change(after={"id": 7, "x": "Infinity", "n": None})
    events[30] = change(after={"id": 30, "x": "NaN", "n": "NaN"})
    events[31] = change(after={"id": 31, "x": "nonsense"})

    block, rows = upserts(kinds, events)

    assert sorted(block.bad) == [30, 31]
    assert rows[7]["x"] == float("inf")
    assert rows[8] == {"id": 8, "x": 4.0, "n": Decimal("1.50"), "_op": "c"}
    assert upserts(kinds, events, infinity_is_null=True)[1][30]["n"] is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.date32(), -2147472692),
        (TIMESTAMP, -9223372036832400000),
        (TIMESTAMP, -9223372036832400),
        (INSTANT, "infinity"),
        (INSTANT, "-infinity"),
    ],
)
def test_an_infinite_time_is_no_time(upserts, kind, value):
    precision = "ms" if value == -9223372036832400 else "us"
    events = [change(after={"id": 1, "at": value}), change(after={"id": 2})]
    kinds = columns(id=pa.int32(), at=kind)

    block, rows = upserts(kinds, events, time_precision=precision)
    assert "infinite" in block.bad[0]
    assert [row["id"] for row in rows] == [2]

    block, rows = upserts(kinds, events, time_precision=precision, infinity_is_null=True)
    assert [row["at"] for row in rows] == [None, None]


def test_an_infinite_time_is_no_number_either(upserts):
    fields = {"id": {"type": "int32"}, "at": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}}
    numbers = columns(id=pa.int32(), at=pa.int64())
    events = [enclosed(fields, change(after={"id": 1, "at": at})) for at in (-9223372036832400000, 7)]

    block, rows = upserts(numbers, events)

    assert [row["at"] for row in rows] == [7]
    assert "infinite" in block.bad[0]


def test_an_unsigned_number_is_never_minus_one(upserts):
    wide = columns(id=pa.int32(), n=pa.decimal128(20, 0))
    event = change(after={"id": 1, "n": -1}, source=MARIA)
    parameters = {"__debezium.source.column.type": "BIGINT UNSIGNED"}
    fields = {"id": {"type": "int32"}, "n": {"type": "int64", "parameters": parameters}}

    block, _ = upserts(wide, [event])
    assert "unsigned" in block.bad[0]

    block, rows = upserts(enclosed(fields, event), [enclosed(fields, event)])
    assert rows[0]["n"] == 2**64 - 1


def test_numbers_with_a_scale_each_keep_all_their_digits(upserts):
    number = Decimal("123456789012345678901234567890.123456789")
    unscaled = int(str(number).replace(".", ""))
    values = [(unscaled, 9), (15, 11), (0, 0), (-1, 2)]
    events = [
        change(after={"id": row, "n": {"scale": scale, "value": base64.b64encode(_bytes(value)).decode()}})
        for row, (value, scale) in enumerate(values)
    ]

    texts = [row["n"] for row in upserts(columns(id=pa.int32(), n=pa.string()), events)[1]]
    assert texts == [str(number), "0.00000000015", "0", "-0.01"]

    block, rows = upserts(columns(id=pa.int32(), n=pa.decimal128(38, 11)), events)
    assert sorted(block.bad) == [0]
    assert [row["n"] for row in rows] == [Decimal("1.5E-10").quantize(Decimal("1E-11")), 0, Decimal("-0.01")]


def _bytes(value):
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def test_times_of_mariadb_may_be_negative_or_longer_than_a_day(upserts):
    hours = 3_600_000_000
    events = [change(after={"id": 1, "t": value}) for value in (-hours - 1, 838 * hours, 0, None)]
    meanings = schema_in(
        enclosed({"id": {"type": "int32"}, "t": {"type": "int64", "name": "io.debezium.time.MicroTime"}}, "{}")
    )

    texts = [row["t"] for row in upserts(columns_of(meanings), events, meanings=meanings)[1]]

    assert texts == ["-01:00:00.000001", "838:00:00.000000", "00:00:00.000000", None]


def test_a_number_that_is_a_date_is_not_read_as_a_time(upserts):
    fields = {"id": {"type": "int32"}, "at": {"type": "int32", "name": "io.debezium.time.Date"}}

    block, _ = upserts(columns(id=pa.int32(), at=TIMESTAMP), [enclosed(fields, change(after={"id": 1, "at": 15736}))])

    assert "io.debezium.time.Date" in block.bad[0]
