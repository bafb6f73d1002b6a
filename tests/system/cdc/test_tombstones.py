"""Why the check refuses tombstones, which are Debezium's default: what a real one does at a deleted row."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.second import SecondDebezium
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import Table, state

from pravega_jobs.debezium.server.report import check_debezium
from pravega_jobs.debezium.server.settings import Harm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
TABLE = Table("stones", ("id",), "id int, n int", "n")


@pytest.fixture(params=["false", "true"], ids=["plain", "transactions"])
def second(shop: Shop, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SecondDebezium]:
    """A Debezium with tombstones, with and without transactions of the sink."""
    if not isinstance(shop.database, PostgreSQL):
        pytest.skip("what the sink does at a tombstone has nothing to do with the database")
    shop.database.run(
        f"drop table if exists {TABLE.name}; create table {TABLE.name} (id int primary key, n int);"
        f"insert into {TABLE.name} values (1, 1), (2, 2)"
    )
    settings = {
        "debezium.source.tombstones.on.delete": "true",
        "debezium.source.provide.transaction.metadata": "false",
        "debezium.sink.pravega.transaction": request.param,
    }
    with SecondDebezium(shop, tmp_path, [TABLE.name], settings) as running:
        yield running


def test_a_tombstone_stops_the_sink_which_loses_events_in_transactions(shop: Shop, second: SecondDebezium, spark):
    def wait_for(id_: int) -> None:
        second.tail_after(b'"after":{"id":%d,' % id_)

    wait_for(2)
    one = [f"insert into {TABLE.name} values ({id_}, {id_})" for id_ in (11, 12)]
    shop.database.run("; ".join([*one, f"delete from {TABLE.name} where id = 1"]))
    shop.database.run(f"insert into {TABLE.name} values (13, 13)")
    wait_for(13)
    shop.database.run(f"insert into {TABLE.name} values (14, 14)")
    wait_for(14)

    [rows] = shop.database.rows(TABLE.query())
    found = state(spark, shop.config, TABLE, second.tail())
    loses = second.server.settings["debezium.sink.pravega.transaction"] == "true"
    assert second.server.ended > 0
    assert set(rows) == {(2, 2), (11, 11), (12, 12), (13, 13), (14, 14)}
    if loses:
        assert (1, 1) in found, "the delete was thrown away with its transaction, and marked as done"
    else:
        assert set(found) == set(rows)
    report = shop.client.run(check_debezium(shop.client.asynchronous, second.server.settings))
    assert Harm.LOSES in {each.harm for each in report.failures}
