"""Events in the form that the documentation of each connector shows: read, or refused by name."""

import json

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.events import change, columns

ROW = columns(id=pa.int32(), v=pa.string())
ABOUT = ("_op", "_tx", "_sequence", "_source_table", "_snapshot", "_source_ts", "_ingested_at")
COMMON = {"version": "3.0.0.Final", "name": "s", "ts_ms": 1700000000000, "snapshot": "false", "db": "d", "table": "t"}
LOGS = {"change_lsn": "00000027:00000758:0003", "commit_lsn": "00000027:00000758:0005"}
MYSQL = {
    "file": "mysql-bin.000003",
    "pos": 484,
    "row": 0,
    "server_id": 223344,
    "gtid": None,
    "thread": 7,
    "query": None,
}
VGTID = '[{"keyspace":"d","shard":"-","gtid":"MySQL56/a790d864:1-28","table_p_ks":[]}]'
SPANNER = {"project_id": "p", "instance_id": "i", "database_id": "d", "change_stream_name": "c", "record_sequence": "1"}


@pytest.mark.parametrize(
    "source",
    [
        {"connector": "postgresql", "schema": "s", "txId": 555, "lsn": 24023128, "sequence": '[null,"24023128"]'},
        {"connector": "mysql", **MYSQL},
        {"connector": "mariadb", **MYSQL, "gtid": "0-7-31"},
        {"connector": "sqlserver", "schema": "dbo", **LOGS, "event_serial_no": 1},
        {"connector": "oracle", "schema": "S", "txId": "6.28.807", "scn": "2122185", "commit_scn": "2122188", "ssn": 0},
        {"connector": "db2", "schema": "S", **LOGS},
        {"connector": "vitess", "keyspace": "d", "shard": "-", "vgtid": VGTID},
        {"connector": "spanner", **SPANNER},
    ],
    ids=lambda source: source["connector"],
)
def test_a_change_of_each_connector_with_rows_is_read(upserts, source):
    source = COMMON | source
    events = [
        change("c", after={"id": 1, "v": "x"}, source=source),
        change("u", before={"id": 1, "v": "x"}, after={"id": 1, "v": "y"}, source=source),
        change("d", before={"id": 1, "v": "y"}, source=source),
    ]

    block, rows = upserts(ROW, events, about=ABOUT)

    assert not block.bad
    assert [(row["_op"], row["id"], row["v"]) for row in rows] == [("c", 1, "x"), ("u", 1, "y"), ("d", 1, None)]


def test_images_of_mongodb_and_cassandra_are_refused(upserts):
    mongodb = COMMON | {"connector": "mongodb", "collection": "t", "ord": 1}
    cassandra = COMMON | {
        "connector": "cassandra",
        "cluster": "c",
        "keyspace": "d",
        "file": "CommitLog-6.log",
        "pos": 54,
    }
    cells = {name: {"value": value, "deletion_ts": None, "set": True} for name, value in (("id", 1), ("v", "x"))}
    events = [
        change("c", after=json.dumps({"_id": {"$numberLong": "1"}, "v": "x"}), source=mongodb),
        change("c", after=cells, source=cassandra),
        change("c", after={"id": 1, "v": "x"}),
    ]

    block, rows = upserts(ROW, events)

    assert [row["id"] for row in rows] == [1]
    assert "after is of type string, but read as object" in block.bad[0]
    assert "is of type object, but read as" in block.bad[1]
