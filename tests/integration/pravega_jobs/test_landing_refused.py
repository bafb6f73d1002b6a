"""Rows that do not fit their table, or do not pass a check: their events are errors of the landing, once."""

import json
from typing import Any

import deltalake
import psycopg2
import pyarrow as pa
import pytest
from pyarrow.compute import field
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.landing_job import Lake, landing
from tests.integration.pravega_jobs.letters import environment

from aiopravega import ScalingPolicy, StreamName
from aiopravega.errors import ConfigurationError, LandingError, TooManyErrorsError
from pravega_jobs.frames import range_of, read_arrow
from pravega_jobs.landing import Action, Iceberg, land, list_errors, read_errors
from pravega_jobs.replays import replay_errors

__all__ = ["client", "environment", "scope"]
COLUMNS = "id long, pieces long, item string"
READ: dict[str, Any] = {
    "decode": "json",
    "columns": COLUMNS,
    "metadata_columns": "event_pointer",
    "on_error": "dead",
}
CHECKS = {"pieces": field("pieces") >= 0}
LARGE = 2**31


def order(number: int) -> dict[str, Any]:
    """Each tenth has no id, each eleventh more pieces than an int holds, each thirteenth fewer than none."""
    pieces = LARGE if number % 11 == 3 else -1 if number % 13 == 4 else number
    return {"id": None if number % 10 == 5 else number, "pieces": pieces, "item": "pen"}


REFUSED = {number for number in range(40) if number % 10 == 5 or number % 11 == 3 or number % 13 == 4}
KINDS = ["delta", "delta-s3", "iceberg", "postgres"]


@pytest.fixture
def orders(client, scope):
    orders = StreamName(scope, "orders")
    client.create_stream(orders, ScalingPolicy.fixed(2))
    with client.writer(orders) as writer:
        writer.write_many([json.dumps(order(number)).encode() for number in range(40)])
        writer.write(b"no json")
    return orders


def make(lake: Lake, kind: str) -> None:
    """Make the table of a lake, with an id that must not be null, and pieces that are an int."""
    table: Any = lake.table()
    if kind == "postgres":
        with psycopg2.connect(table.dsn) as connection, connection.cursor() as cursor:
            cursor.execute(
                f"create table {table.table} (id bigint not null, pieces integer, item text, _consumer text, "
                "_interval text)"
            )
        return
    if kind == "iceberg":
        texts = [NestedField(at + 3, name, StringType()) for at, name in enumerate(["item", "_consumer", "_interval"])]
        fields = [NestedField(1, "id", LongType(), required=True), NestedField(2, "pieces", IntegerType()), *texts]
        load_catalog("default", **table.properties).create_table(table.identifier, Schema(*fields))
        return
    kinds = [("id", "long", False), ("pieces", "integer", True)]
    kinds += [(name, "string", True) for name in ("item", "_consumer", "_interval")]
    schema = deltalake.Schema(
        [deltalake.Field(name, deltalake.schema.PrimitiveType(t), nullable=n) for name, t, n in kinds]
    )
    deltalake.DeltaTable.create(table.path, schema)


@pytest.fixture
def landed(lake, client, orders):
    """Lands the orders with what is refused beside."""

    def landed(**given: Any):
        wanted = range_of(client, orders)
        rows = read_arrow(wanted, **READ)
        arguments = {"errors": lake.table("errors"), "event_pointer": "event_pointer", "checks": CHECKS}
        name = {"consumer": "lake", "interval": "monday", "client": client}
        return land(rows, lake.table(), wanted.range, **arguments | name | given)

    return landed


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_rows_that_do_not_fit_are_errors_once(lake, kind, landed, client):
    make(lake, kind)
    done = landed()
    assert (done.action, done.holding.rows, done.holding.errors.rows) == (
        Action.APPEND,
        40 - len(REFUSED),
        1 + len(REFUSED),
    )
    assert landed().action is Action.NOTHING
    rows = lake.table().read(done.holding, pa.schema([("id", pa.int64()), ("pieces", pa.int32())]))
    found = [row for batch in rows for row in batch.to_pylist()]
    assert sorted(row["id"] for row in found) == sorted(set(range(40)) - REFUSED)
    assert all(row["id"] == row["pieces"] for row in found)

    [errors] = list_errors(lake.table(), lake.table("errors"))
    reasons = {}
    for row in (row for batch in read_errors(errors) for row in batch.to_pylist()):
        assert client.fetch(row["pointer"]).data == row["event"]
        if row["event"] != b"no json":
            event = json.loads(row["event"])
            reasons[event["id"], event["pieces"]] = row["reason"]
    assert len(reasons) == len(REFUSED)
    assert "does not fit the table: column 'id' must not be null" in reasons[None, 5]
    assert "column 'pieces' is int32, which does not hold the value" in reasons[14, LARGE]
    assert reasons[4, -1] == "does not pass check 'pieces'"


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_rows_of_a_replay_that_do_not_fit_stay_errors(lake, kind, landed):
    make(lake, kind)
    landed()

    def replayed(columns: str | None = None, **given: Any):
        options = {"decode": "json", "columns": COLUMNS, "metadata_columns": columns}
        [done] = replay_errors(lake.table(), options, errors=lake.table("errors"), **given)
        return done.generation, done.errors, done.left, sum(lake.table().rows().values())

    # Three rows were refused by the check only, which the replay does not have.
    assert replayed() == (2, 1 + len(REFUSED), 8, 33)
    assert replayed() == (2, 8, 8, 33)
    [errors] = [each for each in list_errors(lake.table(), lake.table("errors")) if each.counts]
    assert (
        sum("does not fit the table" in why for each in read_errors(errors) for why in each["reason"].to_pylist()) == 7
    )

    def name_them(rows: pa.Table) -> pa.Table:
        return rows.set_column(0, "id", rows["id"].fill_null(99))

    assert replayed("event_pointer", change=name_them, event_pointer="event_pointer") == (3, 8, 5, 36)
    with pytest.raises(LandingError, match="pieces"):
        replayed(change=name_them)
    with pytest.raises(ConfigurationError, match="the column 'event_pointer', which is missing"):
        replayed(change=name_them, event_pointer="event_pointer")

    def mend(rows: pa.Table) -> pa.Table:
        return name_them(rows).set_column(1, "pieces", pa.nulls(len(rows), pa.int32()))

    assert replayed(change=mend) == (4, 5, 1, 40)


@pytest.mark.parametrize("kind", ["delta"], indirect=True)
def test_what_cannot_be_refused_row_by_row_is_said(lake, kind, landed):
    make(lake, kind)
    with pytest.raises(TooManyErrorsError, match="4 of the rows so far are errors, and most_errors is 3"):
        landed(most_errors=3)
    with pytest.raises(TooManyErrorsError, match="of 41 rows are errors, and most_errors is 10%"):
        landed(most_errors="10%")
    assert lake.table().rows() == {}
    with pytest.raises(ConfigurationError, match="checks need event_pointer"):
        landed(event_pointer=None)
    with pytest.raises(ConfigurationError, match="event_pointer='event_pointer' needs errors"):
        landed(errors=None)
    with pytest.raises(ConfigurationError, match="the column 'pointer', which is missing"):
        landed(event_pointer="pointer")
    with pytest.raises(ConfigurationError, match="cannot be used on the columns"):
        landed(checks={"a price": field("price") > 0})
    with pytest.raises(LandingError, match="event_pointer"):  # it is a column, as all others
        landed(event_pointer=None, checks=None)
    assert lake.table().rows() == {}


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_a_null_that_may_not_be_fails_the_landing_by_name(lake, kind):
    make(lake, kind)
    one, texts = landing(), pa.array(["pen", "pen"])
    rows = {"pieces": pa.array([1, None], pa.int32()), "item": texts}
    with pytest.raises(LandingError, match=r"null in id, which may not be null|null value in column \"id\""):
        land(pa.table({"id": [1, None], **rows}), lake.table(), one.cuts, consumer="lake", interval="monday")
    assert lake.table().rows() == {}
    land(pa.table({"id": [1, 2], **rows}), lake.table(), one.cuts, consumer="lake", interval="monday")
    assert sum(lake.table().rows().values()) == 2


@pytest.mark.parametrize(
    ("kind", "by"), [("delta", "id"), ("iceberg", "id"), ("iceberg", "bucket(4, id)")], indirect=["kind"]
)
def test_a_partition_by_a_column_that_may_not_be_null(lake, by):
    table, one = lake.table(), landing()
    rows = pa.table({"id": [1, 2, None]})
    kept = rows.filter(field("id").is_valid())
    land(kept, table, one.cuts, consumer="lake", interval="monday", partition_by=[by])
    if isinstance(table, Iceberg):
        with table.load().update_schema(allow_incompatible_changes=True) as update:
            update.update_column("id", required=True)
        with pytest.raises(LandingError, match="null in id, which may not be null"):
            land(rows, table, landing("sunday").cuts, consumer="lake", interval="sunday")
        land(kept, table, landing("sunday").cuts, consumer="lake", interval="sunday")
        assert table.load().scan().to_arrow().num_rows == 4
    else:
        schema = deltalake.Schema(
            [
                deltalake.Field(name, deltalake.schema.PrimitiveType(kind), nullable=name != "id")
                for name, kind in (("id", "long"), ("_consumer", "string"), ("_interval", "string"))
            ]
        )
        other = lake.table("required")
        deltalake.DeltaTable.create(other.path, schema, partition_by=["id"])
        with pytest.raises(LandingError, match="null in id, which may not be null"):
            land(rows, other, one.cuts, consumer="lake", interval="monday")
        assert land(kept, other, one.cuts, consumer="lake", interval="monday").holding.rows == 2


@pytest.mark.parametrize("kind", ["postgres", "parquet", "iceberg"], indirect=True)
@pytest.mark.usefixtures("kind")
def test_a_new_table_gets_all_rows_that_pass_the_checks(lake, landed):
    passing = [order(number)["pieces"] for number in range(40) if order(number)["pieces"] >= 0]
    assert landed().holding.rows == len(passing)
    assert landed(generation=2, new_columns="add").action is Action.REPLACE
    rows = lake.table().read(landed(generation=2).holding, pa.schema([("pieces", pa.int64())]))
    assert sorted(each for batch in rows for each in batch["pieces"].to_pylist()) == sorted(passing)


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_text_that_postgres_cannot_store_is_an_error(lake, kind, landed, client, orders, is_new):
    if not is_new:
        make(lake, kind)
    with client.writer(orders) as writer:
        writer.write(json.dumps({"id": 40, "pieces": 40, "item": "p\0n"}).encode())
    done = landed()
    [errors] = list_errors(lake.table(), lake.table("errors"))
    found = {row["event"]: row["reason"] for batch in read_errors(errors) for row in batch.to_pylist()}
    assert done.holding.errors.rows == len(found)
    [reason] = [reason for event, reason in found.items() if b"p\\u0000n" in event]
    assert reason == "does not fit the table: column 'item' has the character of code 0, which PostgreSQL cannot store"


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
@pytest.mark.usefixtures("kind")
def test_a_landing_with_too_many_refused_rows_reads_no_further(lake, client, orders):
    wanted = range_of(client, orders)
    rows = read_arrow(wanted, **READ).read_all()

    def batches():
        yield from rows.to_batches()
        raise AssertionError("read on")

    read = pa.RecordBatchReader.from_batches(rows.schema, batches())
    with pytest.raises(TooManyErrorsError, match="3 of the rows so far are errors, and most_errors is 2"):
        land(
            read,
            lake.table(),
            wanted.range,
            consumer="lake",
            interval="monday",
            errors=lake.table("errors"),
            most_errors=2,
            event_pointer="event_pointer",
            checks={"none": field("pieces") < 0},
            client=client,
        )
    assert lake.table().rows() == {}
