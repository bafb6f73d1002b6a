"""Why the check refuses tombstones, which are Debezium's default: what a real one does at a deleted row."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.process import wait_until
from tests.system.cdc.debezium import PREFIX, Debezium
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import Table, state

from aiopravega import StreamCutRange, StreamName
from aiopravega.gates.debezium_report import check_debezium
from aiopravega.gates.debezium_settings import Harm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]


@pytest.fixture(params=["false", "true"], ids=["plain", "transactions"])
def debezium(shop: Shop, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Debezium, Table]]:
    """A second Debezium with tombstones, with and without transactions of the sink, on a table of its own."""
    if not isinstance(shop.database, PostgreSQL):
        pytest.skip("what the sink does at a tombstone has nothing to do with the database")
    name = f"t{uuid.uuid4().hex}"
    table = Table(name, ("id",), "id int, n int", "n")
    shop.database.run(f"create table {name} (id int primary key, n int); insert into {name} values (1, 1), (2, 2)")
    shop.client.create_scope(name)
    shop.client.create_stream(name, f"{PREFIX}.public.{name}")
    other = {"table.include.list": f"public.{name}", "slot.name": name, "publication.name": name}
    source = shop.database.source(tmp_path) | other
    running = Debezium(tmp_path, shop.config.controller_uri, name, source)
    running.settings |= {
        "debezium.source.tombstones.on.delete": "true",
        "debezium.source.provide.transaction.metadata": "false",
        "debezium.sink.pravega.transaction": request.param,
    }
    running.start()
    yield running, table
    running.kill()


def test_a_tombstone_stops_the_sink_and_with_transactions_it_loses_events(
    shop: Shop, debezium: tuple[Debezium, Table], spark
):
    running, table = debezium
    stream = StreamName(table.name, f"{PREFIX}.public.{table.name}")

    def arrived() -> set[int]:
        whole = StreamCutRange(shop.client.head(*stream_parts), shop.client.tail(*stream_parts))
        changes = [json.loads(event.data) for event in shop.client.read(whole)]
        return {change["after"]["id"] for change in changes if change["after"]}

    def has_come(id_: int) -> bool:
        running.look_after()
        return id_ in arrived()

    stream_parts = stream.scope, stream.stream
    wait_until(lambda: has_come(2), running.said, every=0.3)
    one = [f"insert into {table.name} values ({id_}, {id_})" for id_ in (11, 12)]
    shop.database.run("; ".join([*one, f"delete from {table.name} where id = 1"]))
    shop.database.run(f"insert into {table.name} values (13, 13)")
    wait_until(lambda: has_come(13), running.said, every=0.3)
    shop.database.run(f"insert into {table.name} values (14, 14)")
    wait_until(lambda: has_come(14), running.said, every=0.3)

    [rows] = shop.database.rows(table.query())
    found = state(spark, shop.config, table, shop.client.tail(*stream_parts))
    loses = running.settings["debezium.sink.pravega.transaction"] == "true"
    assert running.ended > 0
    assert set(rows) == {(2, 2), (11, 11), (12, 12), (13, 13), (14, 14)}
    if loses:
        assert (1, 1) in found, "the delete was thrown away with its transaction, and marked as done"
    else:
        assert set(found) == set(rows)
    report = shop.client.run(check_debezium(shop.client.asynchronous, running.settings))
    assert Harm.LOSES in {each.harm for each in report.failures}
