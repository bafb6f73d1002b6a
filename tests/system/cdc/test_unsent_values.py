"""Large values that an update does not touch, by a real Debezium: its placeholder for some types, null for others."""

from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.second import SecondDebezium
from tests.system.cdc.shop import Shop

from pravega_jobs.debezium.server.connected import check_database
from pyspark_pravega.cdc import current

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
COUNT: Final = 3000


class Kind(NamedTuple):
    """A type of PostgreSQL, a large value of it, and Spark's type."""

    typed: str
    value: str
    spark: str


def filled(item: str, value: str, spark: str = "string") -> Kind:
    """A large array of a type."""
    return Kind(f"{item}[]", f"array_fill({value}::{item}, array[{COUNT}])", f"array<{spark}>")


LONG: Final = f"repeat('x', {COUNT * 5})"
# Debezium writes its placeholder.
NAMED: Final = {
    "whole": filled("int", "7", "int"),
    "long": filled("bigint", "8", "bigint"),
    "days": filled("date", "'2026-01-01'", "date"),
    "ids": filled("uuid", "'00000000-0000-0000-0000-000000000007'"),
    "texts": filled("text", "'a text'"),
    "names": filled("varchar", "'a text'"),
    "blobs": filled("bytea", "'a'", "binary"),
    "docs": filled("jsonb", "'{}'"),
    "note": Kind("text", LONG, "string"),
    "blob": Kind("bytea", f"{LONG}::bytea", "binary"),
    "doc": Kind("jsonb", f"to_jsonb({LONG})", "string"),
    "jsons": filled("json", "'{}'"),
    "tree": Kind("xml", f"('<a>' || {LONG} || '</a>')::xml", "string"),
    "many": Kind("numeric", f"repeat('123456789', {COUNT})::numeric", "string"),
    "pairs": Kind("hstore", f"hstore('key', {LONG})", "string"),
}
# Debezium writes null.
NULLED: Final = {
    "small": filled("smallint", "9", "smallint"),
    "floats": filled("real", "0.5", "float"),
    "doubles": filled("double precision", "0.5", "double"),
    "exact": filled("numeric", "0.5"),
    "flags": filled("boolean", "true", "boolean"),
    "moments": filled("timestamp", "'2026-01-01'", "timestamp_ntz"),
    "zoned": filled("timestamptz", "'2026-01-01'", "timestamp"),
    "hours": filled("time", "'10:00'", "bigint"),
    "chars": filled("char(5)", "'a'"),
    "nets": filled("inet", "'10.0.0.1'"),
    "moods": filled("mood", "'ok'"),
    "ranges": filled("int4range", "'[1,3)'"),
    "numbers": filled("oid", "7", "bigint"),
    "flips": Kind("bit varying", f"repeat('1', {COUNT * 40})::bit varying", "binary"),
}
KINDS: Final = NAMED | NULLED


def test_large_values_that_stay_are_named_or_known_to_the_check(shop: Shop, tmp_path: Path, spark):
    if not isinstance(shop.database, PostgreSQL):
        pytest.skip("the log of MariaDB has whole rows")
    run = shop.database.run
    run("create extension if not exists hstore")
    run("drop table if exists large; drop type if exists mood; create type mood as enum ('ok', 'bad')")
    typed = ", ".join(f"{name} {kind.typed}" for name, kind in KINDS.items())
    run(f"create table large (id int primary key, n int, {typed})")
    run("; ".join(f"alter table large alter {name} set storage external" for name in KINDS))
    with SecondDebezium(shop, tmp_path, ["large"]) as second:
        [finding] = check_database(shop.database.dsn, second.server.settings)
        assert f"a large value of {', '.join(KINDS)} that" in finding.why
        assert f"Of {', '.join(NULLED)} it arrives as null" in finding.why
        run(f"insert into large values (1, 1, {', '.join(kind.value for kind in KINDS.values())})")
        run("update large set n = 2 where id = 1")
        run("alter table large replica identity full")
        run("update large set n = 3 where id = 1")
        cut = second.tail_after(b'"after":{"id":1,"n":3')
        columns = ", ".join(f"{name} {kind.spark}" for name, kind in KINDS.items())
        read = (
            spark.read.format("pravega")
            .schema(f"id int, n int, {columns}, _change_type string, _sequence binary, _unchanged array<string>")
            .options(controller=shop.config.controller_uri, scope=second.stream.scope, stream=second.stream.stream)
            .options(decode="debezium-json", key="id", end_stream_cut=cut.to_text())
            .load()
        )
        inserted, default, full = sorted(read.collect(), key=lambda row: row.n)
        [merged] = current(read.where("n < 3"), ["id"]).collect()
    assert all(inserted[name] is not None for name in KINDS)
    assert (inserted.whole, inserted.days) == ([7] * COUNT, [date(2026, 1, 1)] * COUNT)
    assert [default[name] for name in KINDS] == [None] * len(KINDS)
    assert set(default._unchanged) == set(NAMED)
    assert (merged.n, merged._unchanged) == (2, [])
    assert [merged[name] for name in NAMED] == [inserted[name] for name in NAMED]
    assert [merged[name] for name in NULLED] == [None] * len(NULLED)
    assert full._unchanged == []
    assert [full[name] for name in KINDS] == [inserted[name] for name in KINDS]
