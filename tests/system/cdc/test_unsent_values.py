"""Large values that an update does not touch, by a real Debezium: arrays and pairs that PostgreSQL does not log."""

import uuid
from datetime import date
from pathlib import Path

import pytest
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.second import SecondDebezium
from tests.system.cdc.shop import Shop

from pyspark_pravega.cdc import current

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
KINDS = {"whole": "int[]", "long": "bigint[]", "days": "date[]", "ids": "uuid[]", "texts": "text[]", "pairs": "hstore"}
NULLED = {"small": "smallint[]", "reals": "double precision[]"}
COLUMNS = (
    "id int, n int, whole array<int>, long array<bigint>, days array<date>, ids array<string>, texts array<string>, "
    "pairs string, small array<smallint>, reals array<double>"
)
COUNT = 2000
IDENT = str(uuid.UUID(int=7))
FILL = (
    f"array_fill(7, array[{COUNT}]), array_fill(8::bigint, array[{COUNT}]), "
    f"array_fill('2026-01-01'::date, array[{COUNT}]), "
    f"array_fill('{IDENT}'::uuid, array[{COUNT}]), array_fill('a text'::text, array[{COUNT}]), "
    f"hstore('key', repeat('x', {COUNT * 5})), array_fill(9::smallint, array[{COUNT}]), "
    f"array_fill(0.5::double precision, array[{COUNT}])"
)


def test_large_values_of_arrays_and_pairs_stay_or_are_named(shop: Shop, tmp_path: Path, spark):
    if not isinstance(shop.database, PostgreSQL):
        pytest.skip("the log of MariaDB has whole rows")
    run, kinds = shop.database.run, KINDS | NULLED
    run("create extension if not exists hstore")
    run("drop table if exists large")
    typed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    run(f"create table large (id int primary key, n int, {typed})")
    run("; ".join(f"alter table large alter {name} set storage external" for name in kinds))
    with SecondDebezium(shop, tmp_path, ["large"]) as second:
        run(f"insert into large values (1, 1, {FILL})")
        run("update large set n = 2 where id = 1")
        cut = second.tail_after(b'"after":{"id":1,"n":2')
        read = (
            spark.read.format("pravega")
            .schema(f"{COLUMNS}, _change_type string, _sequence binary, _unchanged array<string>")
            .options(controller=shop.config.controller_uri, scope=second.stream.scope, stream=second.stream.stream)
            .options(decode="debezium-json", key="id", end_stream_cut=cut.to_text())
            .load()
        )
        (update,) = read.where("n = 2").collect()
        assert set(update._unchanged) == set(KINDS)
        assert [update[name] for name in kinds] == [None] * len(kinds)
        (row,) = current(read, ["id"]).collect()
    assert (row.n, row._unchanged) == (2, [])
    assert (row.whole, row.long, row.ids) == ([7] * COUNT, [8] * COUNT, [IDENT] * COUNT)
    assert (row.days, row.texts) == ([date(2026, 1, 1)] * COUNT, ["a text"] * COUNT)
    assert "x" * COUNT in row.pairs
