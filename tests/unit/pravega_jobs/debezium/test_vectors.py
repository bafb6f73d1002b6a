"""Every event of every setting is decoded to the right rows, or refused for a stated reason."""

import base64
import json
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.conftest import KEYS

from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import Meaning, schema_in
from pravega_jobs.debezium.changes.meanings import INSTANT, TIMESTAMP, columns_of
from pravega_jobs.debezium.changes.options import BeforeImage, Changes

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "debezium.md"
UNAVAILABLE = "__debezium_unavailable_value"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
WORDS = {"c": "insert", "r": "insert", "u": "update_postimage", "d": "delete", "t": "truncate"}
FULL = ("full_ident", "nopk")
INFINITE = {"infinity", "-infinity", -2147472692, -9223372036832400000, -9223372036832400}


def payload_of(event):
    document = json.loads(event)
    return document["payload"] if "schema" in document else document


def expected_value(value, meaning):
    """What a value stands for, computed one by one."""
    if value is None or (not isinstance(value, dict | list) and value in INFINITE) or value == UNAVAILABLE:
        return None
    match meaning.name.rpartition(".")[2], value:
        case "Decimal", str():
            return Decimal(unscaled(value)).scaleb(-meaning.scale)
        case "VariableScaleDecimal", dict():
            return plain(unscaled(value["value"]), value["scale"])
        case "Date", int():
            return value
        case "Timestamp", int():
            return value * 1000
        case "MicroTimestamp", int():
            return value
        case "ZonedTimestamp", str():
            return datetime.fromisoformat(value)
        case "Time" | "MicroTime", int():
            micros = value * (1000 if meaning.name.endswith(".Time") else 1)
            return (EPOCH + timedelta(microseconds=micros)).time().isoformat("microseconds")
    if meaning.base == "array":
        return [expected_value(item, meaning.items) for item in value]
    if meaning.base == "struct":
        return {name: expected_value(value[name], part) for name, part in meaning.fields}
    if meaning.base == "bytes":
        return base64.b64decode(value)
    return float(value) if meaning.base in ("float", "double") else value


def unscaled(text):
    return int.from_bytes(base64.b64decode(text), "big", signed=True)


def plain(number, scale):
    sign, digits, _ = Decimal(number).as_tuple()
    return format(Decimal((sign, digits, -scale)), "f")


def shown(value):
    """What came out, in the form of `expected_value`."""
    match value:
        case date() if not isinstance(value, datetime):
            return (value - date(1970, 1, 1)).days
        case datetime() if value.tzinfo is None:
            return (value - EPOCH) // timedelta(microseconds=1)
        case datetime():
            return value.astimezone(UTC)
    return in_words(value)


def in_words(value):
    """NaN is not equal to itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def expected_rows(payload, changes, table, columns):
    """The rows of an event as (word, columns)."""
    key, full = KEYS[table], table in FULL
    op, after, before = payload["op"], payload["after"], payload["before"]

    def image(found, only_key=False):
        found = found or {}
        return {
            name: expected_value(found.get(name), meaning) if not only_key or name in key else None
            for name, meaning in columns.items()
        }

    if op == "d":
        return [("delete", image(before, only_key=changes is Changes.UPSERT or not full))]
    rows = [(WORDS[op], image(after))]
    if changes is Changes.ROWS and op == "u" and before:
        rows.insert(0, (metadata.PREIMAGE, image(before)))
    return rows


PRECISE = ("plain", "schema", "transaction-sink")
# An old date is before the first year of Python, so that its row is compared by its other columns.
ANCIENT = "dt"


@pytest.mark.parametrize("changes", [Changes.UPSERT, Changes.ROWS])
@pytest.mark.parametrize("table", KEYS)
@pytest.mark.parametrize("settings", PRECISE)
def test_every_event_of_a_table_becomes_the_rows_it_says(vectors, written_schema, decode, settings, table, changes):
    if changes is Changes.UPSERT and not KEYS[table]:
        changes = Changes.ROWS
    meanings = schema_in(written_schema[table])
    meanings.pop(ANCIENT, None)
    events = [one["event"] for one in vectors if one["settings"] == settings and one["table"] == table]

    block, rows = decode(
        columns_of(meanings),
        events,
        meanings=meanings,
        changes=changes,
        key=KEYS[table],
        before_image=BeforeImage.FULL if table in FULL else BeforeImage.AUTO,
        infinity_is_null=True,
    )

    wanted = [
        (number, *row)
        for number, event in enumerate(events)
        for row in expected_rows(payload_of(event), changes, table, meanings)
    ]
    assert not block.bad
    assert block.taken.tolist() == [number for number, _, _ in wanted]
    for row, (number, word, columns) in zip(rows, wanted, strict=True):
        assert row["_change_type"] == word
        found = {name: shown(row[name]) for name in meanings}
        assert found == {name: in_words(value) for name, value in columns.items()}, events[number]
        payload = payload_of(events[number])
        assert row["_lsn"] == payload["source"]["lsn"]
        assert row["_source_table"] == table
        image = payload["after"] or {}
        assert row["_unchanged"] == [name for name in meanings if image.get(name) == UNAVAILABLE]


@pytest.mark.parametrize("settings", ["types-string", "types-double"])
def test_other_forms_of_the_same_values_give_the_same_columns(vectors, written_schema, decode, settings):
    columns = {"nu": "decimal(12,4)", "ts3": "timestamp", "tm3": "string", "mo": "decimal"}
    meanings = {name: one for name, one in schema_in(written_schema["kinds"]).items() if name in ("id", *columns)}
    events = [one["event"] for one in vectors if one["settings"] == settings and one["table"] == "kinds"]
    if settings == "types-double":  # times count microseconds there, timestamps what the column has
        meanings.pop("tm3")

    block, rows = decode(columns_of(meanings), events, about=("_op",), key=("id",), time_precision="ms")

    assert not block.bad
    first = next(row for row in rows if row["id"] == 1 and row["_op"] == "c")
    assert first["nu"] == Decimal("12345678.9012")
    assert first["mo"] == Decimal("12.34")
    assert first["ts3"] == EPOCH + timedelta(milliseconds=1359676799123)
    assert first.get("tm3", "01:02:03.004000") == "01:02:03.004000"


def outcome(decode, vectors, settings, written_schema):
    """What becomes of all events of a setting, each table read by itself, the streams of no table too."""
    counts: Counter[str] = Counter()
    mine = [one for one in vectors if one["settings"] == settings]
    for table in sorted({one["table"] or "" for one in mine}):
        events = [one["event"] or "" for one in mine if (one["table"] or "") == table]
        columns, key = columns_for_table(written_schema, table)
        about = ("_change_type", "_unchanged", "_source_table")
        known: dict[str, Meaning] | None = (
            {} if settings.startswith("types") else None
        )  # that schema is of the usual settings
        block, rows = decode(columns, events, about=about, meanings=known, changes="upsert", key=key)
        counts["events"] += len(events)
        counts.update({f"row: {word}": number for word, number in Counter(row["_change_type"] for row in rows).items()})
        counts.update(block.left_out)
        counts.update(reason(why) for why in block.bad.values())
        assert len(set(block.taken.tolist())) + sum(block.left_out.values()) + len(block.bad) == len(events)
    return counts


def columns_for_table(written_schema, table):
    if table in written_schema and table not in ("kinds", "nopk"):
        return written_schema[table], KEYS[table]
    if table == "nopk":
        return pa.schema([("a", pa.int32()), ("b", pa.string())]), ("a",)
    return pa.schema([("id", pa.int32())]), ("id",)


def reason(why):
    for words, name in (
        ("flattened event", "refused: flattened"),
        ("CloudEvent", "refused: CloudEvents"),
        ("not a change event", "refused: no op"),
    ):
        if words in why:
            return name
    return f"refused: {why}"


SETTINGS = (
    *PRECISE,
    "types-string",
    "types-double",
    "mariadb-plain",
    "flat-default",
    "flat-rewrite",
    "flat-schema",
    "cloudevents",
)
KINDS = (
    ("events", ("events",)),
    ("insert", ("row: insert",)),
    ("update", ("row: update_postimage",)),
    ("delete", ("row: delete",)),
    ("truncate", ("row: truncate",)),
    ("empty", ("empty",)),
    ("transaction", ("transaction",)),
    ("message", ("message",)),
    ("DDL", ("ddl",)),
    ("refused", ("refused: flattened", "refused: CloudEvents", "refused: no op")),
)


def test_the_page_has_the_counts_of_all_settings(vectors, written_schema, decode):
    lines = [f"| setting | {' | '.join(name for name, _ in KINDS)} |", "|---" * (len(KINDS) + 1) + "|"]
    for settings in SETTINGS:
        counts = outcome(decode, vectors, settings, written_schema)
        cells = [str(sum(counts.pop(key, 0) for key in keys)) for _, keys in KINDS]
        assert not counts, settings
        lines.append(f"| `{settings}` | {' | '.join(cells)} |")

    assert len(vectors) == 983
    assert "\n".join(lines) in PAGE.read_text()


def test_mariadb_without_schemas_has_the_values_that_the_columns_ask_for(vectors, decode):
    columns = pa.schema(
        [
            *[("id", pa.int32()), ("name", pa.string()), ("balance", pa.decimal128(10, 2)), ("created", TIMESTAMP)],
            *[("d0", TIMESTAMP), ("seen", INSTANT), ("bl", pa.binary()), ("en", pa.string()), ("yr", pa.int32())],
            *[("bt", pa.binary()), ("b1", pa.bool_()), ("dt", pa.date32()), ("fl", pa.float32()), ("tm", pa.int64())],
        ]
    )
    events = [
        one["event"]
        for one in vectors
        if one["settings"] == "mariadb-plain" and one["table"] == "customers" and one["op"] in ("c", "r", "u", "d")
    ]

    block, rows = decode(columns, events, key=("id",), changes="rows")

    assert not block.bad
    assert all(row["id"] is not None for row in rows)
    update = next(number for number, row in enumerate(rows) if row["_change_type"] == metadata.PREIMAGE)
    before, after = rows[update : update + 2]
    assert (before["balance"], after["balance"]) == (Decimal("12.34"), Decimal("99.90"))
    assert after["_file"] == "bin.000001"
    assert before["_sequence"] == after["_sequence"]
    seconds = EPOCH + timedelta(seconds=1359676799)
    assert (after["created"], after["d0"]) == (seconds + timedelta(microseconds=123456), seconds)
    assert after["seen"] == datetime.fromisoformat("2013-01-31T23:59:59.123+00:00")
    assert (after["bl"], after["bt"], after["b1"]) == (b"\x00\xff", b"\x81", True)
    assert (after["en"], after["yr"], after["dt"], after["tm"]) == ("b", 2013, date(2013, 1, 31), 86399500000)
