"""Values that are hard to carry, by a real Debezium: not a number, infinite, without a scale, unsigned."""

import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.second import SecondDebezium
from tests.system.cdc.shop import Shop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
KINDS = "id int primary key, r real, d double precision, n numeric, m numeric(20,4), day date, at timestamp"
POSTGRES = "id int, r float, d double, n string, m decimal(20,4), day date, at timestamp_ntz"
MARIA = "id int, d double, m decimal(20,4), b decimal(20,0)"
LARGEST = 2**64 - 1


@pytest.fixture
def second(shop: Shop, tmp_path: Path) -> Iterator[SecondDebezium]:
    """A Debezium on a table of hard values."""
    run = shop.database.run
    run("drop table if exists hard")
    if isinstance(shop.database, PostgreSQL):
        run(f"create table hard ({KINDS})")
        run("insert into hard values (1, 'NaN', 'Infinity', 1.50, 'NaN', '2026-01-01', '2026-01-01 00:00:01.5')")
        run("insert into hard values (2, '-Infinity', 'NaN', 123456789012345678901234567890.5, 0.0001, null, null)")
    else:
        run("create table hard (id int primary key, d double, m decimal(20,4), b bigint unsigned)")
        run(f"insert into hard values (1, 1.5e300, -0.0001, {LARGEST}), (2, null, null, 0)")
    with SecondDebezium(shop, tmp_path, ["hard"]) as running:
        yield running


def test_hard_values_are_the_databases_or_refused(shop: Shop, second: SecondDebezium, spark):
    second.tail_after(b'"after":{"id":2,')
    is_postgres = isinstance(shop.database, PostgreSQL)
    columns = POSTGRES if is_postgres else MARIA
    names = [each.split()[0] for each in columns.split(", ")]

    def rows(*, lenient: bool = False) -> dict[int, tuple[object, ...]]:
        more = {"on_error": "null"} if lenient else {}
        about = ", _change_type string" + (", _corrupt_event binary" if lenient else "")
        read = (
            spark.read.format("pravega")
            .schema(columns + about)
            .options(controller=shop.config.controller_uri, scope=second.stream.scope, stream=second.stream.stream)
            .options(decode="debezium-json", key="id", end_stream_cut=second.tail().to_text(), **more)
            .load()
        )
        return {row[0]: tuple(row[1:]) for row in read.where("_change_type = 'insert'").select(*names).collect()}

    if not is_postgres:
        assert rows() == {1: (1.5e300, Decimal("-0.0001"), Decimal(LARGEST)), 2: (None, None, Decimal(0))}
        return
    with pytest.raises(PySparkException, match="m cannot be read as .*: it is not a number, or infinite"):
        rows()
    found = rows(lenient=True)
    assert math.isnan(found[1][0])  # type: ignore[arg-type]  # a float
    assert found[1][1:5] == (math.inf, "1.50", None, date(2026, 1, 1))
    assert str(found[1][5]) == "2026-01-01 00:00:01.500000"
    assert (found[2][0], found[2][2:4]) == (-math.inf, ("123456789012345678901234567890.5", Decimal("0.0001")))
    assert math.isnan(found[2][1])  # type: ignore[arg-type]  # a float
    shop.database.run("delete from hard; insert into hard (id, day) values (3, 'infinity')")
    second.tail_after(b'"after":{"id":3,')
    assert rows(lenient=True)[3] == (None,) * 6
