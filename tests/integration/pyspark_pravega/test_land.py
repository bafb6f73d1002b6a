"""Ranges of a real stream, by a real Spark, into tables: each event once, and the table and the ledger agree."""

import datetime as dt
import json
from decimal import Decimal

import polars as pl
import psycopg2
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from pyspark.sql import functions as sf
from tests.integration.pravega_jobs.landing_job import landing

from aiopravega import StreamCutRange
from aiopravega.commands.main import main as pravega
from aiopravega.errors import LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing import list_errors, read_errors
from pyspark_pravega.land import Action, DeltaFolder, Iceberg, ParquetFolder, Postgres, holdings, land

DAYS = ("monday", "tuesday", "wednesday")


@pytest.fixture(params=["parquet", "postgres", "delta", "delta-s3", "iceberg"])
def table(request, tmp_path, scope, monkeypatch):
    """A new table of each kind; its text, and what it is."""
    if request.param == "delta-s3":
        s3, spark = request.getfixturevalue("s3"), request.getfixturevalue("spark")
        for name, value in request.getfixturevalue("s3_server").environment().items():
            monkeypatch.setitem(spark.sparkContext.environment, name, value)  # of its executors, which write the files
        return f"delta:{s3}", DeltaFolder(s3)
    if request.param == "delta":
        return f"delta:{tmp_path}/table", DeltaFolder(f"{tmp_path}/table")
    if request.param == "iceberg":
        properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
        for name, value in properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it reads the environment when it is imported
        load_catalog("lake", **properties).create_namespace("shop")
        return "iceberg:lake/shop.orders", Iceberg("shop.orders", "lake", properties)
    if request.param == "parquet":
        return f"parquet:{tmp_path}/table", ParquetFolder(f"{tmp_path}/table")
    dsn = request.getfixturevalue("postgres_dsn")
    return f"{dsn}#{scope}", Postgres(dsn, scope)


@pytest.fixture
def contents(spark):
    """The intervals and events that readers of a table find."""

    def contents(table):
        if isinstance(table, DeltaFolder | Iceberg):
            found = (
                DeltaTable(table.path).to_pyarrow_table()
                if isinstance(table, DeltaFolder)
                else table.load().scan().to_arrow()
            )
            return sorted((row["_interval"], row["event"].decode()) for row in found.to_pylist())
        if isinstance(table, ParquetFolder):
            rows = spark.read.parquet(table.path).select("_interval", "event").collect()
            return sorted((row[0], bytes(row[1]).decode()) for row in rows)
        with psycopg2.connect(table.dsn) as connection, connection.cursor() as cursor:
            cursor.execute(f'select _interval, event from "{table.table}"')
            return sorted((name, bytes(event).decode()) for name, event in cursor.fetchall())

    return contents


@pytest.fixture
def ranges(client, make_stream, fill):
    """Three ranges of a stream, one after the other, in the ledger as claims, with their events."""
    stream = make_stream(2)
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    start, found = client.head(stream), {}
    for number, day in enumerate(DAYS):
        events = [each.decode() for each in fill(stream, 20, day)]
        end = client.tail(stream)
        claimed = ledger.claim(Interval("lander", stream, day), StreamCutRange(start, end), number=number)
        found[day] = claimed, events
        start = end
    return stream, ledger, found


def test_ranges_land_once_in_any_order_and_the_ledger_agrees(
    read, table, ranges, contents, pravega_config, monkeypatch, terminal
):
    name, target = table
    stream, ledger, found = ranges
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)

    def run(day, generation=1, where=target):
        record, _ = found[day]
        texts = {"start": record.start, "end": record.end}
        frame = read(stream, start_stream_cut=record.start, end_stream_cut=record.end)
        columns = frame.select("event", "segment_id", "offset", sf.lit(generation).alias("generation"))
        if day == "monday":  # one table takes ranges from Spark, and from this process
            columns = columns.toArrow()
        landed = land(columns, where, {**texts, "consumer": "lander", "interval": day}, generation=generation)
        ledger.finish(Interval("lander", stream, day), record.range)
        return landed

    def verify():
        code = pravega(["cuts", "verify", str(stream), "--table", name, "--json"])
        [shown] = json.loads(terminal.readouterr().out)
        return code, {(each["kind"], *each["intervals"]) for each in shown["findings"]}

    assert run("wednesday", where=name).action is Action.APPEND
    ledger.finish(Interval("lander", stream, "tuesday"), found["tuesday"][0].range)
    assert verify() == (1, {("open", "monday"), ("not in the table", "tuesday")})
    assert [run("monday").action, run("tuesday").action] == [Action.APPEND] * 2
    assert run("monday").action is Action.NOTHING
    assert run("tuesday", generation=2).action is Action.REPLACE
    with pytest.raises(LandingError, match="holds generation 2"):
        run("tuesday")
    assert contents(target) == sorted((day, event) for day, (_, events) in found.items() for event in events)
    held = {each.interval: each for each in holdings(name)}
    assert {day: (each.generation, each.rows) for day, each in held.items()} == {
        "monday": (1, 20),
        "tuesday": (2, 20),
        "wednesday": (1, 20),
    }
    assert {day: each.range for day, each in held.items()} == {day: found[day][0].range for day in DAYS}
    assert verify() == (0, set())


@pytest.mark.parametrize("table", ["delta", "iceberg"], indirect=True)
def test_tasks_write_files_for_each_partition_of_a_table(spark, table):
    _, target = table
    is_delta = isinstance(target, DeltaFolder)
    frame = spark.range(0, 60, 1, 2).selectExpr(
        "id", "cast(id % 3 as int) as part", "date_add(date'2026-01-31', cast(id % 2 as int)) as day"
    )
    partition_by = ["part", "day"] if is_delta else ["part", "month(day)"]
    cuts = landing().cuts
    for generation, files in ((1, 2 * 6), (2, 6 if is_delta else 2 * 6)):
        done = land(frame, target, cuts, consumer="it", interval="m", generation=generation, partition_by=partition_by)
        assert done.holding.rows == 60
        read = pl.scan_delta(target.path) if is_delta else pl.scan_iceberg(target.load())
        found = read.select("id", "part", "day").collect().rows()
        days = dt.date(2026, 1, 31), dt.date(2026, 2, 1)
        assert sorted(found) == [(number, number % 3, days[number % 2]) for number in range(60)]
        there = DeltaTable(target.path).file_uris() if is_delta else target.load().inspect.files().to_pylist()
        assert len(there) == files


@pytest.mark.slow
def test_a_task_that_is_tried_again_adds_nothing(spark, table, ranges, tmp_path):
    _, target = table
    _, _, found = ranges
    mark = tmp_path / "tried"

    def fail_once(batches):
        for number, batch in enumerate(batches):
            yield batch
            if number == 1 and not mark.exists():
                mark.touch()
                raise ValueError("the first try fails after some rows")

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 10)
    frame = spark.range(0, 100, 1, 1).mapInArrow(fail_once, "id long")
    landed = land(frame, target, found["monday"][0].range, consumer="lander", interval="monday")
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert mark.exists()
    assert landed.holding.rows == 100
    assert target.rows() == {("lander", "monday"): 100}


@pytest.mark.slow
def test_an_interval_without_rows_is_held(spark, table, ranges):
    _, target = table
    _, _, found = ranges
    empty = land(spark.range(0), target, found["monday"][0].range, consumer="lander", interval="monday")
    assert (empty.action, empty.holding.rows) == (Action.APPEND, 0)
    again = land(spark.range(5), target, found["monday"][0].range, consumer="lander", interval="monday")
    assert again.action is Action.NOTHING
    assert [each.rows for each in target.holdings()] == [0]


ODD = [
    (
        True,
        -1,
        2**31 - 1,
        -(2**63),
        0.1,
        float("-inf"),
        Decimal("-12345678.90"),
        "a\tb\\N\n\r\\",
        b"\x00\xff\\",
        dt.date(1500, 3, 1),
        dt.datetime(2013, 1, 31, 21, 59, 59, 123456, tzinfo=dt.UTC),
        dt.datetime(2013, 1, 31, 21, 59, 59, 123456),  # noqa: DTZ001  a time without a zone
        'say "x"',
    ),
    (*[None] * 12, "\\N"),
    (False, 1, 0, 0, float("nan"), 1e300, Decimal(0), "", b"", dt.date(9999, 12, 31), None, None, "ü€😀"),
]
TYPES = (
    "bool boolean, tiny tinyint, number int, big bigint, real float, precise double, price decimal(10,2), text string, "
    'bytes binary, day date, moment timestamp, local timestamp_ntz, `odd "name"` string'
)


def test_values_of_every_type_reach_postgres_as_they_are(spark, postgres_dsn, ranges, scope):
    _, _, found = ranges
    target = Postgres(postgres_dsn, scope)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        land(spark.createDataFrame(ODD, TYPES), target, found["monday"][0].range, consumer="lander", interval="monday")
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    with psycopg2.connect(postgres_dsn) as connection, connection.cursor() as cursor:
        cursor.execute(f'select * from "{scope}"')
        rows = [[bytes(each) if isinstance(each, memoryview) else each for each in row[:-2]] for row in cursor]
    expected = [list(row) for row in ODD]
    by_text = {row[-1]: row for row in rows}
    assert len(by_text) == 3
    for row in expected:
        for value, there in zip(row, by_text[row[-1]], strict=True):
            assert there == value or there == pytest.approx(value, nan_ok=True)


def test_values_that_postgres_cannot_have_are_refused(spark, postgres_dsn, ranges, scope):
    _, _, found = ranges
    target = Postgres(postgres_dsn, scope)
    with pytest.raises(LandingError, match=r"to_json\(list\)"):
        land(
            spark.sql("select array(1) as list"), target, found["monday"][0].range, consumer="lander", interval="monday"
        )
    with pytest.raises(Exception, match="character of code 0"):
        land(
            spark.sql("select 'a\\0b' as text"), target, found["monday"][0].range, consumer="lander", interval="monday"
        )
    assert target.rows() == {}
    assert target.holdings() == []


def test_files_that_no_landing_made_and_other_columns_are_refused(spark, tmp_path, ranges):
    _, _, found = ranges
    path = f"{tmp_path}/table"
    spark.range(1).write.parquet(path)
    with pytest.raises(LandingError, match="no landing has made"):
        land(spark.range(1), ParquetFolder(path), found["monday"][0].range, consumer="lander", interval="monday")
    target = ParquetFolder(f"{tmp_path}/other")
    land(spark.range(1), target, found["monday"][0].range, consumer="lander", interval="monday")
    with pytest.raises(LandingError, match="id string"):
        land(spark.sql("select 'a' as id"), target, found["tuesday"][0].range, consumer="lander", interval="tuesday")
    assert target.rows() == {("lander", "monday"): 1}


@pytest.mark.parametrize("kind", ["parquet", "postgres"])
def test_events_that_cannot_be_decoded_land_beside_the_others(read, client, make_stream, request, kind):
    stream = make_stream(2)
    with client.writer(stream) as writer:
        for number in range(20):
            writer.write(b"no json %d" % number if number % 5 == 0 else b'{"id":%d}' % number, routing_key=str(number))
    cuts = {"start": client.head(stream).to_text(), "end": client.tail(stream).to_text()}
    if kind == "postgres":
        dsn = request.getfixturevalue("postgres_dsn")
        names = [f"{dsn}#{stream.scope}", f"{dsn}#{stream.scope}_errors"]
    else:
        folder = request.getfixturevalue("tmp_path")
        names = [f"{folder}/table", f"{folder}/errors"]
    table, errors = (Postgres(*each.split("#")) if kind == "postgres" else ParquetFolder(each) for each in names)
    options = {"decode": "json", "columns": "id long", "on_error": "dead"}
    frame = read(stream, start_stream_cut=cuts["start"], end_stream_cut=cuts["end"], **options).select("_error", "id")

    landed = land(frame, table, cuts, consumer="lander", interval="monday", errors=errors, most_errors="20%")

    held = landed.holding.errors
    assert held is not None
    assert (landed.holding.rows, held.rows) == (16, 4)
    [one] = list_errors(table, errors)
    found = [row for batch in read_errors(one) for row in batch.to_pylist()]
    assert sorted(row["event"] for row in found) == sorted(b"no json %d" % number for number in range(0, 20, 5))
    assert all(client.fetch(row["pointer"]).data == row["event"] for row in found)
    assert all(row["reason"].startswith("cannot be decoded as Json") for row in found)
    with pytest.raises(LandingError, match="most_errors is 3"):
        land(frame, table, cuts, consumer="lander", interval="other", event_times=True, errors=errors, most_errors=3)
    # Rows of Arrow have the same errors, and so the same note.
    arrow = frame.toArrow()
    again = land(arrow, table, cuts, consumer="lander", interval="monday", errors=errors, generation=2)
    assert again.holding.errors is not None
    digests = [str(each.interval).rpartition("-")[2] for each in (held, again.holding.errors)]
    assert digests[0] == digests[1]
