"""Columns that are added, renamed and dropped inside a range, by a real Debezium: as Spark reads them, and merged."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Moment, Shop
from tests.system.cdc.tables import EXTRAS, Table, assert_rows, changes

from aiopravega import StreamCut
from pyspark_pravega.cdc import current, merge_into

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
# The names that the columns have in all of the range, and in the end.
ALL = Table("extras", ("id",), "id int, n int, big string, note string, added int, m int", "note")
LAST = Table("extras", ("id",), "id int, note string, added int, m int", "note")
BACK = """alter table extras drop column added;
alter table extras rename column m to n;
alter table extras add column big """


@pytest.fixture
def altered(shop: Shop) -> Iterator[tuple[Moment, Moment]]:
    """The moments before and after changes of columns, with changes of rows between them; then all is as it was."""
    run = shop.database.run
    run("delete from extras")
    run("insert into extras (id, n, big) values (1, 10, 'first'), (2, 20, 'first'), (3, 30, 'first')")
    before = shop.moment(EXTRAS)
    run("insert into extras (id, n, big) values (4, 40, 'second')")
    run("alter table extras add column added int default 7")
    run("update extras set n = 11, added = 8 where id = 1")
    run("alter table extras rename column n to m")
    run("insert into extras (id, m, big) values (5, 50, 'third')")
    run("alter table extras drop column big")
    run("insert into extras (id, m) values (6, 60)")
    run("update extras set m = 21 where id = 2")
    yield before, shop.moment(EXTRAS, LAST)
    run(BACK + ("text" if isinstance(shop.database, PostgreSQL) else "longtext"))
    if isinstance(shop.database, PostgreSQL):
        run("alter table extras alter big set storage external")


def without_marks(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows if row[0] > 0)


def test_a_read_ignores_keeps_or_refuses_columns_that_it_does_not_have(
    shop: Shop, spark, altered: tuple[Moment, Moment]
):
    before, after = altered
    cuts = {"start_stream_cut": before.cut.to_text(), "end_stream_cut": after.cut.to_text()}

    ignored = changes(spark, shop.config, after.stream, EXTRAS, **cuts).select("id", "n", "big")
    assert without_marks(ignored.collect()) == [
        (1, 11, "first"),
        (2, None, None),
        (4, 40, "second"),
        (5, None, "third"),
        (6, None, None),
    ]
    keeping = Table("extras", ("id",), f"{EXTRAS.columns}, _rest string", "note")
    kept = changes(spark, shop.config, after.stream, keeping, new_columns="rest", **cuts).select("id", "_rest")
    assert {id_: rest and json.loads(rest) for id_, rest in without_marks(kept.collect())} == {
        1: {"added": 8},
        2: {"m": 21, "added": 7},
        4: None,
        5: {"m": 50, "added": 7},
        6: {"m": 60, "added": 7},
    }
    with pytest.raises(PySparkException, match="columns that the read does not have: (added|m)"):
        changes(spark, shop.config, after.stream, EXTRAS, new_columns="fail", **cuts).collect()
    whole = changes(spark, shop.config, after.stream, ALL, new_columns="fail", end_stream_cut=after.cut.to_text())
    # Without an event, a row has the new columns' values in the database only: nothing says that 3 has `added` and `m`.
    assert without_marks(current(whole, ["id"]).select(*ALL.names()).collect()) == [
        (1, 11, "first", None, 8, None),
        (2, None, None, None, 7, 21),
        (3, 30, "first", None, None, None),
        (4, 40, "second", None, None, None),
        (5, None, "third", None, 7, 50),
        (6, None, None, None, 7, 60),
    ]


def test_a_merge_adds_new_columns_and_later_rows_equal_the_database(
    shop: Shop, spark, altered: tuple[Moment, Moment], tmp_path
):
    before, after = altered
    target = f"{tmp_path}/extras"

    def merge(name: str, table: Table, start: StreamCut, end: StreamCut) -> list[str]:
        cuts = {"start": start.to_text(), "end": end.to_text()}
        given = {f"{edge}_stream_cut": text for edge, text in cuts.items()}
        read = changes(spark, shop.config, after.stream, table, **given)
        to = f"delta:{target}"
        return merge_into(
            read, to, cuts, key=["id"], consumer="lake", interval=name, new_columns="add"
        ).counts.new_columns

    def merged(table: Table) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in DeltaTable(target).to_pyarrow_table(columns=table.names()).to_pylist()]

    assert merge("before", EXTRAS, shop.client.head(after.stream), before.cut) == []
    assert_rows(merged(EXTRAS), EXTRAS, before.rows)
    assert merge("altered", LAST, before.cut, after.cut) == ["added", "m"]
    # A renamed column is a new one: what a row had before is under the old name, until the row changes.
    assert without_marks(merged(ALL)) == [
        (1, 10, "first", None, 8, None),
        (2, 20, "first", None, 7, 21),
        (3, 30, "first", None, None, None),
        (4, None, None, None, None, None),
        (5, None, None, None, 7, 50),
        (6, None, None, None, 7, 60),
    ]
    shop.database.run("update extras set note = 'again' where id > 0")
    last = shop.moment(EXTRAS, LAST)
    assert merge("again", LAST, after.cut, last.cut) == []
    assert_rows(merged(LAST), LAST, last.rows)
