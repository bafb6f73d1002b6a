"""Notes as commit 98b8d95 wrote them, before tables had identities: they count as long as the table is the same one."""

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from pyarrow import parquet
from tests.integration.pravega_jobs.landing_job import CONSUMER, STREAM, new_lake, rows

from aiopravega import SegmentId, StreamCut, StreamCutRange
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, Holding, Landing

START, END = "H4sIAAAAAAAA/zOwKs7IL9DPL0pJLSq2MgBBAC4izSYTAAAA", "H4sIAAAAAAAA/zOwKs7IL9DPL0pJLSq2MgBCQwMAjS4wMRQAAAA="
NOTE = (
    '{"version":1,"consumer":"it\'s","stream":{"scope":"shop","stream":"orders"},"interval":"monday","start":"'
    f'{START}","end":"{END}","generation":1,"rows":3,"landed_at":"2026-11-26T02:50:17.164062Z","crc32":1110141461}}'
)
ROWS = pa.table(
    {
        "id": pa.array([1, 1, None], "int32"),
        "_consumer": [CONSUMER] * 3,
        "_interval": ["monday"] * 3,
    }
)


def monday(generation: int = 1) -> Landing:
    cuts = StreamCutRange(*(StreamCut(STREAM, {SegmentId(STREAM, 0, 0): each}) for each in (0, 10)))
    return Landing(Interval(CONSUMER, STREAM, "monday"), cuts, generation)


def write_parquet(lake):
    table = lake.table()
    folder = table._standing.folder_of(monday())
    folder.mkdir(parents=True)
    parquet.write_table(ROWS, folder / "part-0.parquet")
    (folder / ".landing.json").write_text(NOTE)
    return table


def write_delta(lake):
    table = lake.table()
    ids = (
        'pravega landing ["it\'s", "monday"]',
        f'pravega landing of a range ["it\'s", "monday", "shop/orders", "{START}", "{END}", 3]',
    )
    write_deltalake(
        table.path,
        ROWS,
        commit_properties=CommitProperties(app_transactions=[Transaction(each, 1) for each in ids]),
    )
    table.stored.work.mkdir()
    (table.stored.work / "a9a83d50ed95a4c99ad7f904-staged-0dc5d8ff.json").write_text(NOTE)
    return table


def write_iceberg(lake):
    table = lake.table()
    made = table.make_table(ROWS.schema, monday())
    with made.transaction() as transaction:
        transaction.append(ROWS, snapshot_properties={"pravega.landing": NOTE})
        transaction.set_properties({"pravega.landing.a9a83d50ed95a4c99ad7f904": NOTE})
    return table


def write_postgres(lake):
    table = lake.table()
    lake.ask(
        f"create table {table.table} (id integer, _consumer text, _interval text); create table "
        f"{lake.schema}.pravega_landings (table_name text not null, consumer text not null, interval_name text not "
        "null, holding text not null, primary key (table_name, consumer, interval_name)); select 1"
    )
    lake.ask(f"insert into {table.table} select id, 'it''s', 'monday' from unnest(array[1, 1, null]) id returning 1")
    quoted = NOTE.replace("'", "''")
    for name in ("orders", "dropped"):
        lake.ask(
            f"insert into {lake.schema}.pravega_landings values ('{name}', 'it''s', 'monday', '{quoted}') returning 1"
        )
    return table


WRITERS = {"parquet": write_parquet, "delta": write_delta, "iceberg": write_iceberg, "postgres": write_postgres}


@pytest.mark.parametrize("kind", WRITERS)
def test_older_notes_count_for_the_table_that_they_are_of(kind, tmp_path, request):
    where = request.getfixturevalue("postgres_dsn") if kind == "postgres" else f"{tmp_path}/lake"
    lake = new_lake(kind, where)
    table = WRITERS[kind](lake)
    note = Holding.from_json(NOTE.encode())
    assert (table.holdings(), table.held(monday())) == ([note], note)
    if kind == "parquet":
        assert table.identity() == table.location()
        assert lake.land(lake.table("other"), monday(), 2) is Action.APPEND
    else:
        assert lake.land(table, monday(), 2) is Action.NOTHING
        assert table.holdings() == [note]
        assert lake.land(table, monday(generation=2), 2) is Action.REPLACE
        assert lake.contents(table) == rows("monday", 2)
    lake.drop(table)
    assert table.holdings() == []
    assert lake.land(table, monday(), 3) is not Action.NOTHING
    assert lake.contents(table) == rows("monday", 3)
    if kind == "postgres":
        assert lake.land(lake.table("dropped"), monday(), 4) is Action.REPLACE
        assert lake.contents(lake.table("dropped")) == rows("monday", 4)
