"""What a load does not do, by a real Debezium: emptied tables, changed keys of large rows, a snapshot begun again."""

from contextlib import nullcontext

import pytest
from deltalake import DeltaTable
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import EXTRAS, assert_rows, changes, state

from aiopravega import StreamCutRange
from pyspark_pravega.cdc import ghosts, merge_into

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
LARGE = "repeat('0123456789', 700)"


@pytest.fixture
def empty(shop: Shop) -> Shop:
    """The table has no rows but marks."""
    shop.database.run("delete from extras")
    return shop


def is_postgresql(shop: Shop) -> bool:
    return isinstance(shop.database, PostgreSQL)


def test_a_table_that_was_emptied_has_the_rows_that_came_after_it(empty: Shop, spark):
    rows = ", ".join(f"({number}, {number}, 'old')" for number in range(50))
    empty.database.run(f"insert into extras (id, n, big) values {rows}")
    empty.database.run("truncate table extras")
    empty.database.run("insert into extras (id, n, big) values (1, 10, 'new'), (99, 990, 'new')")

    moment = empty.moment(EXTRAS)

    assert_rows(state(spark, empty.config, EXTRAS, moment.cut), EXTRAS, moment.rows)


def test_a_changed_key_loses_a_large_value_unless_the_old_row_is_logged(empty: Shop, spark):
    empty.database.run(f"insert into extras (id, n, big) values (1000, 1, {LARGE}), (1002, 2, {LARGE})")
    empty.database.run("update extras set id = 1001 where id = 1000")
    moment = empty.moment(EXTRAS)

    lost = is_postgresql(empty)
    found = state(spark, empty.config, EXTRAS, moment.cut, unsent=int(lost))
    expected = [(*row[:2], None, row[3]) if lost and row[0] == 1001 else row for row in moment.rows]
    assert_rows(found, EXTRAS, expected)

    if is_postgresql(empty):
        empty.database.run("alter table extras replica identity full")
    empty.database.run(f"update extras set big = {LARGE} where id = 1001")
    empty.database.run("update extras set id = 1003 where id = 1002")
    moment = empty.moment(EXTRAS)
    assert_rows(state(spark, empty.config, EXTRAS, moment.cut), EXTRAS, moment.rows)
    if is_postgresql(empty):
        empty.database.run("alter table extras replica identity default")


def test_a_snapshot_begun_again_leaves_no_ghosts(empty: Shop, spark, tmp_path):
    table, key, start = f"{tmp_path}/extras", list(EXTRAS.key), empty.moment(EXTRAS).cut
    rows = ", ".join(f"({number}, {number}, 'old')" for number in range(30))
    empty.database.run(f"insert into extras (id, n, big) values {rows}")
    first = empty.moment(EXTRAS)
    # Debezium is killed, and has no offset when it starts: it does not see the deletes, and takes a snapshot.
    empty.debezium.kill()
    empty.database.run("delete from extras where id between 0 and 9;\nupdate extras set n = 100 where id = 20")
    empty.debezium.forget()
    # What was changed when the snapshot began, and is committed when it is over, has an older position.
    late = "insert into extras (id, n, big) values (500, 500, 'late');\nupdate extras set n = 220 where id = 22"
    with empty.database.open_transaction(late) if isinstance(empty.database, PostgreSQL) else nullcontext():
        empty.database.run("update extras set n = 210 where id = 21")  # so that the log is longer
        empty.debezium.start()
    second = empty.moment(EXTRAS)

    assert_rows(state(spark, empty.config, EXTRAS, second.cut, ghosts="remove"), EXTRAS, second.rows)
    read = changes(spark, empty.config, second.stream, EXTRAS, end_stream_cut=second.cut.to_text())
    assert {row.id for row in ghosts(read, key).collect()} == set(range(10))
    assert len(state(spark, empty.config, EXTRAS, second.cut)) == len(second.rows) + 10
    older = read.where("id = 500").crossJoin(read.where("_op = 'r'").selectExpr("max(_sequence) as taken"))
    assert older.where("_sequence < taken").count() == int(is_postgresql(empty))

    found = []
    for number, moment in enumerate((first, second)):
        cuts = StreamCutRange(start, moment.cut)
        given = {"start_stream_cut": start.to_text(), "end_stream_cut": moment.cut.to_text()}
        read = changes(spark, empty.config, moment.stream, EXTRAS, **given)
        interval = f"moment {number}"
        found.append(
            merge_into(read, f"delta:{table}", cuts, key=key, consumer="lake", interval=interval, ghosts="remove")
        )
        merged = DeltaTable(table).to_pyarrow_table(columns=EXTRAS.names()).to_pylist()
        assert_rows([tuple(row.values()) for row in merged], EXTRAS, moment.rows)
        start = moment.cut
    assert [each.counts.ghosts for each in found] == [0, 10]
