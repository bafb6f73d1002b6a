"""Changes that a real Debezium wrote, from a real Pravega by a real Spark, merged range after range into tables."""

import json
import uuid
from contextlib import closing

import psycopg2
import pytest
from deltalake import DeltaTable
from psycopg2.extras import RealDictCursor
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from pyspark.errors import PySparkException
from tests.integration.pyspark_pravega.debezium_events import made, texts

from aiopravega import StreamCutRange
from aiopravega.commands.main import main as pravega
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from pyspark_pravega.cdc import holdings, merge_into
from pyspark_pravega.land import Action

ABOUT = "_change_type string, _sequence binary"
ITEMS = "order_id int, line int, sku string, qty bigint, price decimal(10,2)"


@pytest.fixture(params=["delta", "iceberg", "postgres"])
def table(request, tmp_path, monkeypatch):
    """The name of a new table of each kind."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_dsn')}#public.t{uuid.uuid4().hex}"
    if request.param == "delta":
        return f"delta:{tmp_path}/table"
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    for name, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it reads the environment when it is imported
    load_catalog("lake", **properties).create_namespace("shop")
    return "iceberg:lake/shop.orders"


def rows_of(table):
    kind, _, rest = table.partition(":")
    if kind == "postgresql":
        dsn, _, name = table.rpartition("#")
        with closing(psycopg2.connect(dsn, cursor_factory=RealDictCursor)) as connection:
            cursor = connection.cursor()
            cursor.execute(f"select * from {name}")
            return [dict(row) for row in cursor.fetchall()]
    if kind == "delta":
        return DeltaTable(rest).to_pyarrow_table().to_pylist()
    return load_catalog("lake").load_table(rest.partition("/")[2]).scan().to_arrow().to_pylist()


@pytest.fixture
def ranges(client, make_stream, write):
    """Writes some lists of events, and claims the range of each in the cut ledger."""

    def ranges(*lists):
        stream = make_stream(2)
        ledger = client.cut_ledger(stream.scope)
        ledger.create()
        start, claimed = client.head(stream), []
        for number, events in enumerate(lists):
            write(stream, events)
            end = client.tail(stream)
            claimed.append(ledger.claim(Interval("merger", stream, str(number)), StreamCutRange(start, end)))
            start = end
        return stream, ledger, claimed

    return ranges


@pytest.fixture
def merge(changes):
    """Merges a range that was claimed."""

    def merge(stream, record, table, columns, key, *, options=None, **rules):
        cuts = {"start_stream_cut": record.start, "end_stream_cut": record.end}
        frame = changes(stream, columns, key=",".join(key), **cuts, **options or {})
        given = {"start": record.start, "end": record.end, "consumer": "merger", "interval": record.interval}
        return merge_into(frame, table, given, key=key, **rules)

    return merge


def position(event):
    """Where a change is in the log of its database."""
    source = event["source"]
    return (source["lsn"],) if "lsn" in source else (source["file"], source["pos"], source["row"])


def in_order(settings, name):
    """The changes of a table as the database made them, each as often as Debezium wrote it, with the events parsed."""
    parsed = []
    for text, key in texts(settings, name):
        event = json.loads(text) if text else {}
        event = event.get("payload", event)
        if event.get("op") in tuple("crud"):
            parsed.append((position(event), event, (text, key)))
    return sorted(parsed, key=lambda each: each[0])


def state(found, key):
    """The rows that changes leave, computed one by one."""
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for _, event, _ in found:
        row = event["after"] or event["before"]
        name = tuple(row[each] for each in key)
        rows.pop(name, None)
        if event["op"] != "d":
            rows[name] = row
    return rows


@pytest.mark.parametrize(
    ("settings", "name", "key", "columns"),
    [
        ("plain", "order_items", ["order_id", "line"], ITEMS),
        ("schema", "customers", ["id"], "id int, first_name string, last_name string"),
        ("mariadb-plain", "orders", ["id", "line"], "id int, line int, qty int"),
    ],
)
def test_the_table_is_what_the_database_had_after_each_range(
    table, ranges, merge, settings, name, key, columns, pravega_config, monkeypatch
):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    found = in_order(settings, name)
    third = len(found) // 3
    # Debezium repeats events after a restart: the second range begins with what the first one ended with.
    parts = [found[:third], found[third - 2 : 2 * third], found[2 * third :]]
    stream, ledger, claimed = ranges(*([event for _, _, event in part] for part in parts))
    plain = [each.split()[0] for each in columns.split(", ") if "decimal" not in each]

    for number, record in enumerate(claimed):
        merged = merge(stream, record, table, f"{columns}, {ABOUT}", key)
        assert merged.action is Action.MERGE
        expected = state(found[: (number + 1) * third] if number < 2 else found, key)
        rows = rows_of(table)
        assert {tuple(row[each] for each in key): [row[each] for each in plain] for row in rows} == {
            name: [row[each] for each in plain] for name, row in expected.items()
        }
        assert len(rows) == len(expected)
        # The driver was killed after the commit, and before it said so to the ledger: the range is merged again.
        assert merge(stream, record, table, f"{columns}, {ABOUT}", key).action is Action.NOTHING
        ledger.finish(Interval("merger", stream, record.interval), record.range)

    assert rows_of(table) == rows
    assert [each.range for each in sorted(holdings(table), key=lambda each: each.interval)] == [
        each.range for each in claimed
    ]
    assert pravega(["cuts", "verify", str(stream), "--table", table]) == 0


def test_a_large_value_that_was_not_sent_is_kept(table, ranges, merge):
    found = in_order("schema", "toasted")
    made_row = next(each for each in found if each[1]["op"] == "c")
    updates = [each for each in found if each[1]["op"] == "u"]
    stream, _, claimed = ranges([made_row[2]], [updates[0][2]], [updates[-1][2]])
    columns = f"id int, big string, n int, {ABOUT}, _unchanged array<string>"

    for record in claimed[:2]:
        merge(stream, record, table, columns, ["id"])
    [row] = rows_of(table)
    assert (row["big"], row["n"]) == (made_row[1]["after"]["big"], 2)
    merge(stream, claimed[2], table, columns, ["id"])
    assert [row["big"] for row in rows_of(table)] == ["small"]


def test_late_ranges_are_refused_or_guarded_by_what_deletes_leave(table, ranges, merge):
    stream, _, claimed = ranges(
        [made("c", 1, id=1, n=1), made("c", 2, id=2, n=2)],
        [made("u", 3, id=1, n=3)],
        [made("d", 4, id=1, n=None), made("c", 5, id=3, n=5)],
    )
    columns = f"id int, n int, {ABOUT}"
    for number in (2, 0, 1):
        merge(stream, claimed[number], table, columns, ["id"], deletes="soft")
    found = {row["id"]: (row["n"], row["_deleted"]) for row in rows_of(table)}
    assert {id_: row[0] for id_, row in found.items() if not row[1]} == {2: 2, 3: 5}
    with pytest.raises(LandingError, match="soft deletes"):
        merge(stream, claimed[2], table, columns, ["id"])


def versions(found, key, names):
    """The versions that changes make, one by one: key, values, and the times of what opened and what closed each."""
    every: list[list[object]] = []
    current: dict[tuple[object, ...], list[object]] = {}
    taken = set()
    # Debezium gives both snapshots of a database that stood still one position; the first one says since when.
    for at, event, _ in sorted(found, key=lambda each: (each[0], each[1]["source"]["ts_us"])):
        row, time = event["after"] or event["before"], event["source"]["ts_us"]
        name, values = tuple(row[each] for each in key), [row[each] for each in names]
        old = current.get(name)
        if (at, name) in taken or (event["op"] != "d" and old and old[1] == values):
            continue
        taken.add((at, name))
        if old:
            old[3] = time
            del current[name]
        if event["op"] != "d":
            current[name] = [name, values, time, None]
            every.append(current[name])
    return sorted(every, key=str)


def micros(time):
    return None if time is None else round(time.timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("settings", "name", "key", "columns"),
    [
        ("plain", "order_items", ["order_id", "line"], "order_id int, line int, sku string, qty bigint"),
        ("schema", "customers", ["id"], "id int, first_name string, last_name string"),
        ("mariadb-plain", "orders", ["id", "line"], "id int, line int, qty int"),
    ],
)
@pytest.mark.parametrize("table", ["delta", "iceberg"], indirect=True)
def test_every_version_of_a_row_is_kept(table, ranges, merge, settings, name, key, columns):
    found = in_order(settings, name)
    half = len(found) // 2
    # Debezium repeats events after a restart, within a range and over its border.
    parts = [[*found[:half], *found[half - 3 : half]], [*found[half - 4 : half], *found[half:]]]
    stream, _, claimed = ranges(*([event for _, _, event in part] for part in parts))
    names = [each.split()[0] for each in columns.split(", ")]
    for record in claimed:
        read = f"{columns}, {ABOUT}, _source_ts timestamp"
        merged = merge(stream, record, table, read, key, history="scd2")
        assert merge(stream, record, table, read, key, history="scd2").action is Action.NOTHING
    rows = [
        [
            tuple(row[each] for each in key),
            [row[each] for each in names],
            *map(micros, (row["_valid_from"], row["_valid_to"])),
        ]
        for row in rows_of(table)
    ]
    assert sorted(rows, key=str) == versions(found, key, names)
    assert (merged.action, merged.counts.older + merged.counts.same >= 3) == (Action.MERGE, True)


def snapshot(lsn, at, *rows, ends=True):
    """The events of a snapshot."""
    said = [*["true"] * (len(rows) - 1), "last" if ends else "true"]
    return [made("r", lsn, at=at, snapshot=each, id=id_, n=n) for each, (id_, n) in zip(said, rows, strict=True)]


def test_rows_that_a_snapshot_begun_again_leaves_behind_are_removed(table, ranges, merge):
    second = snapshot(20, 5, (1, 10), (3, 30))
    stream, _, claimed = ranges(
        # Killed while it took the first snapshot; 2 and 4 are deleted before the second one, of which one row is there.
        [*snapshot(10, 1, (1, 1), (2, 2), (4, 4), ends=False), *snapshot(15, 3, (3, 3), ends=False), second[0]],
        # 5 came in a transaction that was open when the snapshot began, which has updated 3.
        [second[1], made("u", 18, at=6, id=3, n=33), made("c", 19, at=6, id=5, n=50), made("u", 25, at=7, id=1, n=11)],
        [made("c", 30, at=8, id=6, n=60), *snapshot(40, 9, (1, 12), (5, 50), (7, 70))],
    )
    columns = f"id int, n int, _op string, _snapshot string, _ingested_at timestamp, {ABOUT}"
    found = [merge(stream, each, table, columns, ["id"], ghosts="remove") for each in claimed[:2]]
    assert {row["id"]: row["n"] for row in rows_of(table)} == {1: 11, 3: 33, 5: 50}
    found.append(merge(stream, claimed[2], table, columns, ["id"], ghosts="remove"))
    assert [each.counts.ghosts for each in found] == [0, 2, 1]
    assert {row["id"]: row["n"] for row in rows_of(table)} == {1: 12, 5: 50, 7: 70}
    assert merge(stream, claimed[2], table, columns, ["id"], ghosts="remove").action is Action.NOTHING
    with pytest.raises(ConfigurationError, match="no column _op, _snapshot, _ingested_at"):
        merge(stream, claimed[0], f"{table}-other", f"id int, n int, {ABOUT}", ["id"], ghosts="remove")


@pytest.mark.parametrize("table", ["delta"], indirect=True)
def test_what_cannot_be_merged_is_refused_with_the_ways_out(table, ranges, merge):
    stream, _, claimed = ranges(
        [made("c", 1, id=1, n=1)], [made("t", 2)], [(b"no event", "key"), made("c", 3, id=3, n=3)]
    )
    columns = f"id int, n int, {ABOUT}"
    with pytest.raises(ConfigurationError, match="no column _sequence"):
        merge(stream, claimed[0], table, "id int, n int, _change_type string", ["id"])
    with pytest.raises(ConfigurationError, match="unsent is fail, null, not 'keep'"):
        merge(stream, claimed[0], table, columns, ["id"], unsent="keep")
    merge(stream, claimed[1], table, columns, ["id"], options={"truncates": "drop"})
    with pytest.raises(LandingError, match="does not lie after '1'"):
        merge(stream, claimed[0], table, columns, ["id"])
    with pytest.raises(LandingError, match="1 changes have no id"):
        merge(stream, claimed[2], table, f"{columns}, _corrupt_event binary", ["id"], options={"on_error": "null"})
    assert (rows_of(table), len(holdings(table))) == ([], 1)
    with pytest.raises(PySparkException, match="the range has a truncate"):
        merge(stream, claimed[1], f"{table}-other", columns, ["id"])
    kept = {"history": "scd2"}
    with pytest.raises(ConfigurationError, match="no column _source_ts"):
        merge(stream, claimed[0], f"{table}-history", columns, ["id"], **kept)
    timed = f"{columns}, _source_ts timestamp"
    with pytest.raises(PySparkException, match="the range has a truncate"):
        merge(stream, claimed[1], f"{table}-history", timed, ["id"], **kept)
    with pytest.raises(ConfigurationError, match="have _current, which history='scd2' adds itself"):
        merge(stream, claimed[0], f"{table}-history", f"{timed}, _current boolean", ["id"], **kept)
    for more, message in (
        ({"deletes": "soft"}, "leave out deletes='soft'"),
        ({"ghosts": "remove"}, "cannot remove ghosts"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            merge(stream, claimed[0], f"{table}-history", timed, ["id"], **kept, **more)
