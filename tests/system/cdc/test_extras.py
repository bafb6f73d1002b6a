"""What a load does not do, by a real Debezium: emptied tables, and a changed key of a row with a large value."""

import pytest
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import EXTRAS, assert_rows, state

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


def test_a_changed_key_leaves_a_large_value_behind_unless_the_old_row_is_logged(empty: Shop, spark):
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
