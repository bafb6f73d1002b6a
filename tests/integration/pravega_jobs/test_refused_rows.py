"""Rows that a check or the schema of their stream refuses, on a real server: their events are dead letters, once."""

import base64
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow.compute import field
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.letters import environment, events, run, states

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError, TooManyErrorsError, WriteIdReusedError
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo
from aiopravega.schema.open import register_schema
from pravega_jobs.frames import range_of, read_arrow, write_arrow, write_by_column, write_streams
from pravega_jobs.landing import WrittenStream
from pravega_jobs.replays import replay_errors

__all__ = ["client", "environment", "events", "scope"]
READ: dict[str, Any] = {
    "decode": "json",
    "columns": "id long, price double",
    "metadata_columns": "event_pointer",
    "on_error": "dead",
}
CHECKS = {"a price": field("price") > 0}
# The schema of the stream has no null for the price.
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": "double"}],
}


@pytest.fixture
def registry(pravega_emulator):
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as registry:
        yield registry


@pytest.fixture
def orders(client, scope):
    """40 orders: each tenth has no price, each eleventh a negative one, and one is not JSON."""
    orders = StreamName(scope, "orders")
    for name in (orders, f"{scope}/clean", f"{scope}/cheap", f"{scope}/dead"):
        client.create_stream(name, ScalingPolicy.fixed(2))

    def price(number: int) -> float | None:
        return None if number % 10 == 5 else -1.0 if number % 11 == 3 else number / 2

    with client.writer(orders) as writer:
        writer.write_many([json.dumps({"id": number, "price": price(number)}).encode() for number in range(40)])
        writer.write(b"no json")
    return orders


@pytest.fixture
def clean(client, scope, orders, registry):
    def clean(**given):
        schema = SchemaInfo.of(SchemaFormat.AVRO, "Order", json.dumps(ORDER))
        registry.run(register_schema(registry.asynchronous, StreamName(scope, "clean"), schema))
        rows = read_arrow(range_of(client, orders), **READ)
        arguments = {"errors": f"stream:{scope}/dead", "event_pointer": "event_pointer", "checks": CHECKS} | given
        return write_arrow(client, rows, f"{scope}/clean", "monday", registry=registry, encode="auto", **arguments)

    return clean


def test_events_of_refused_rows_are_letters_once(client, scope, clean, events):
    written = clean(checks=None)
    assert (written.record.total_events, written.record.errors.rows) == (36, 5)
    assert not clean(checks=None).by_this_try
    letters = [json.loads(each) for each in events(StreamName(scope, "dead"))]
    assert len(letters) == 5
    for letter in letters:
        event = base64.b64decode(letter["event"])
        assert client.fetch(letter["pointer"]).data == event
        if event != b"no json":
            assert json.loads(event)["price"] is None
            assert letter["reason"].startswith("cannot be an event of the stream: ")
    with pytest.raises(WriteIdReusedError):
        clean()


def test_rows_of_a_replay_that_their_stream_refuses_stay_letters(client, scope, clean, registry, events):
    clean(checks=None)
    target = StreamName(scope, "clean")

    def replayed(columns: str | None = None, **given: Any):
        options = {"decode": "json", "columns": READ["columns"], "metadata_columns": columns}
        encoded = {"output_options": {"encode": "auto"}, "registry": registry}
        [*_, done] = replay_errors(WrittenStream(target, client), options, **encoded, **given)
        return done.errors, done.left, done.rows, len(events(target))

    def price(rows: pa.Table) -> pa.Table:
        return rows.set_column(1, "price", pc.if_else(pc.equal(rows["id"], 15), 7.5, rows["price"]))

    assert replayed() == (5, 5, 0, 36)
    assert replayed("event_pointer", change=price, event_pointer="event_pointer") == (5, 4, 1, 37)
    assert states(target) == [("monday", 1, "counted", 4), ("monday", 1, "replayed", 5)]
    reasons = [json.loads(each)["reason"] for each in events(StreamName(scope, "dead"))]
    assert sum(reason.startswith("cannot be an event of the stream: ") for reason in reasons) == 4 + 3
    with pytest.raises(ConfigurationError):
        replayed(change=price)


def test_rows_that_do_not_pass_a_check_are_replayed_by_other_code(scope, clean, tmp_path, monkeypatch):
    target = StreamName(scope, "clean")
    record = clean().record
    # 4 without a price, 3 with a negative one, one for nothing, and one that is not JSON.
    assert (record.total_events, record.errors.rows) == (32, 9)
    assert states(target) == [("monday", 1, "counted", 9)]
    assert "does not pass check 'a price'" in run("dead", "show", f"stream:{target}")[1]
    (tmp_path / "mending.py").write_text(
        "import pyarrow as pa, pyarrow.compute as pc\n\n"
        "def mend(rows: pa.Table) -> pa.Table:\n"
        "    prices = pc.if_else(pc.greater(pc.fill_null(rows['price'], 0.0), 0.0), rows['price'], 1.0)\n"
        "    return rows.set_column(1, 'price', prices)\n"
    )
    monkeypatch.chdir(tmp_path)
    replay = ("dead", "replay", f"stream:{target}", "-o", "decode=json", "-o", "columns=id long, price double")
    assert run(*replay, "--with", "mending:mend", "--yes")[0] == 1  # one is left
    assert states(target) == [("monday", 1, "counted", 1), ("monday", 1, "replayed", 9)]


def test_refused_rows_need_a_place_and_a_pointer(client, scope, orders, clean, events):
    with pytest.raises(TooManyErrorsError, match="9 of 41 rows are errors"):
        clean(most_errors="19%")
    assert events(StreamName(scope, "clean")) == []
    with pytest.raises(ConfigurationError, match="no field for the column event_pointer"):
        clean(event_pointer=None, checks=None)
    with pytest.raises(ConfigurationError, match="checks need event_pointer"):
        clean(event_pointer=None)
    with pytest.raises(ConfigurationError, match="event_pointer='event_pointer' needs errors"):
        clean(errors=None)
    with pytest.raises(ConfigurationError, match="the column 'pointer', which is missing: read the events with"):
        clean(event_pointer="pointer")
    with pytest.raises(ConfigurationError, match="check 'a price' is .* cannot be used on the columns id, price"):
        clean(checks={"a price": field("cost") > 0})
    rows = read_arrow(range_of(client, orders), **READ).read_all()
    twice = pa.concat_tables([rows, rows.set_column(1, "price", pa.nulls(rows.num_rows, pa.float64()))])
    with pytest.raises(ConfigurationError, match="other rows of it are not: a replay of the event would add them"):
        write_arrow(
            client,
            twice,
            f"{scope}/cheap",
            "twice",
            errors=f"stream:{scope}/dead",
            event_pointer="event_pointer",
            checks=CHECKS,
        )
    assert events(StreamName(scope, "cheap")) == []


def test_each_stream_of_a_write_has_its_errors(client, scope, orders, events):
    rows = read_arrow(range_of(client, orders), **READ).read_all()
    is_cheap = field("price") < 10
    bad = field("_error").is_valid()
    tables = {
        f"{scope}/cheap": rows.filter(is_cheap | bad),
        f"{scope}/clean": rows.filter(~bad & (~is_cheap | field("price").is_null())),
    }

    def write(**given):
        errors = {"errors": f"stream:{scope}/dead", "consumer": "orders/divide", "event_pointer": "event_pointer"}
        return write_streams(client, tables, "divided", **errors | given)

    record = write().record
    assert not write().by_this_try
    counts = {each.stream: record.of(each).errors.rows for each in record.streams}
    assert counts == {"cheap": 1, "clean": 0}
    assert states(StreamName(scope, "cheap")) == [("divided", 1, "counted", 1)]
    assert states(StreamName(scope, "clean")) == []
    [letter] = [json.loads(each) for each in events(StreamName(scope, "dead"))]
    assert (letter["target"], letter["_consumer"]) == (f"stream:{scope}/cheap", "orders/divide")
    tables[f"{scope}/cheap"] = tables[f"{scope}/cheap"].filter(~bad)
    with pytest.raises(WriteIdReusedError, match="with 1 errors"):
        write()
    with pytest.raises(ConfigurationError, match="the rows have the column '_error'"):
        write(errors=None, event_pointer=None)


def test_rows_of_a_divided_table_are_letters_of_their_stream(
    client, scope, orders, registry, events, tmp_path, monkeypatch
):
    clean, cheap = StreamName(scope, "clean"), StreamName(scope, "cheap")
    for stream in (clean, cheap):
        schema = SchemaInfo.of(SchemaFormat.AVRO, "Order", json.dumps(ORDER))
        registry.run(register_schema(registry.asynchronous, stream, schema))
    rows = read_arrow(range_of(client, orders), **READ).read_all()
    is_bad = rows["_error"].is_valid()
    halves = pc.if_else(pc.less(rows["id"], 20), "low", "high")
    divided = rows.append_column("half", pc.if_else(is_bad, None, halves))

    def write(**given: Any):
        arguments: dict[str, Any] = {"errors": f"stream:{scope}/dead", "event_pointer": "event_pointer"}
        arguments |= {"errors_of": clean} | given
        streams = {"low": clean, "high": cheap}
        read = divided.to_reader(max_chunksize=9)
        return write_by_column(client, read, "half", streams, "halves", registry=registry, encode="auto", **arguments)

    with pytest.raises(ConfigurationError, match="has no value in column 'half' .*: name the stream"):
        write(errors_of=None)
    with pytest.raises(ConfigurationError, match="errors_of is .*dead, but must be a stream of the write"):
        write(errors_of=f"{scope}/dead")
    with pytest.raises(ConfigurationError, match="event_pointer='event_pointer' needs errors"):
        write(errors=None, errors_of=None)
    with pytest.raises(TooManyErrorsError, match="3 of the rows so far are errors, and most_errors is 2"):
        write(most_errors=2)
    assert (events(clean), events(cheap), client.written(clean, "halves")) == ([], [], [])
    record = write().record
    assert not write().by_this_try
    # Two of each half have no price, and one of the events is not JSON.
    assert {each: record.of(each).errors.rows for each in record.streams} == {cheap: 2, clean: 3}
    assert (record.of(clean).total_events, record.of(cheap).total_events) == (18, 18)
    letters = [json.loads(each) for each in events(StreamName(scope, "dead"))]
    assert len({letter["pointer"] for letter in letters}) == 5
    assert sorted(states(clean) + states(cheap)) == [("halves", 1, "counted", 2), ("halves", 1, "counted", 3)]
    (tmp_path / "mending.py").write_text(
        "import pyarrow as pa, pyarrow.compute as pc\n\n"
        "def mend(rows: pa.Table) -> pa.Table:\n"
        "    return rows.set_column(1, 'price', pc.fill_null(rows['price'], 1.0))\n"
    )
    monkeypatch.chdir(tmp_path)
    options = ("-o", "decode=json", "-o", "columns=id long, price double")
    assert run("dead", "replay", f"stream:{cheap}", *options, "--with", "mending:mend", "--yes")[0] == 0
    assert len(events(cheap)) == 20
