"""Columns of rows beside those of a table: what grows, what is left out, and what is refused by name."""

import pyarrow as pa
import pytest

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing import Landing
from pravega_jobs.landing.growth import Growth, TableColumns, fitted, growth, is_wider
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.landing.rules import Evolution

STREAM = StreamName("shop", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 0})
TABLE = {"id": "int", "price": "decimal(10,2)", "inner": "struct<a:int>"}


def landing(rule: str) -> Landing:
    return Landing(Interval("consumer", STREAM, "monday"), StreamCutRange(CUT, CUT), new_columns=Evolution(rule))


@pytest.mark.parametrize(
    ("kind", "other", "wider"),
    [
        ("bigint", "int", True),
        ("int", "bigint", False),
        ("int", "int", False),
        ("double", "float", True),
        ("double", "int", False),
        ("decimal(12,2)", "decimal(10,2)", True),
        ("decimal(12,3)", "decimal(10,2)", False),
        ("decimal(38,0)", "bigint", False),
        ("string", "int", False),
    ],
)
def test_a_type_is_wider_if_it_holds_all_values_of_the_other(kind, other, wider):
    assert is_wider(kind, other) is wider


@pytest.mark.parametrize(
    ("rule", "widens", "found", "expected"),
    [
        ("add", True, {"note": "string", "id": "bigint"}, Growth({"note": "string"}, {"id": "bigint"})),
        ("add", False, {"note": "string", "id": "smallint"}, Growth({"note": "string"})),
        ("ignore", True, {"note": "string", "id": "int"}, Growth()),
        ("fail", True, TABLE, Growth()),
    ],
)
def test_a_table_gets_the_columns_that_the_rule_and_its_kind_allow(rule, widens, found, expected):
    assert growth(landing(rule), TableColumns(TABLE, widens=widens), found) == expected


@pytest.mark.parametrize(
    ("rule", "found", "said"),
    [
        ("fail", {**TABLE, "note": "string"}, "The table lacks note string. new_columns='add'"),
        ("fail", {"id": "int"}, "the rows have id int. new_columns='add'.*columns that the rows lack are null"),
        ("add", {"price": "decimal(10,2)"}, "the rows lack id, which may not be null in the table"),
        ("add", {"id": "int", "Price": "double"}, "the rows have Price, and the table has price: rename it"),
        ("add", {"id": "int", "inner": "struct<a:int,b:int>"}, "inner .struct<a:int> in the table.*Cast those of the"),
        ("add", {"id": "bigint"}, "id .int in the table, bigint in the rows.*keeps the types of its columns"),
        ("ignore", {"id": "string"}, "id .int in the table, string in the rows.*Cast those of the rows"),
    ],
)
def test_columns_that_do_not_fit_are_refused_with_the_ways_out(rule, found, said):
    with pytest.raises(LandingError, match=f"{said}.*Nothing was changed"):
        growth(landing(rule), TableColumns(TABLE, frozenset({"id"})), found)


def test_a_database_converts_values_and_fills_in_what_rows_lack():
    table = TableColumns(TABLE, widens=True, takes_values=True)
    assert growth(landing("fail"), table, {"id": "string"}) == Growth()
    assert growth(landing("add"), table, {"id": "string", "n": "int"}) == Growth({"n": "int"})
    with pytest.raises(LandingError, match="lacks n int"):
        growth(landing("fail"), table, {"n": "int"})


def test_rows_get_the_order_and_the_types_of_the_table():
    value = pa.table({"note": ["x"], "price": pa.array([1], pa.decimal128(5, 2)), "id": pa.array([7], pa.int8())})
    table = TableColumns(TABLE)
    ignored = fitted(LocalRows(value), table, landing("ignore"))
    assert ignored.types() == {"id": "int", "price": "decimal(10,2)"}
    assert list(fitted(LocalRows(value), table, landing("add")).types()) == ["id", "price", "note"]
    untouched = LocalRows(value)
    assert fitted(untouched, None, landing("add")) is untouched


def test_a_rule_for_columns_that_is_none_is_refused_by_name():
    cuts = StreamCutRange(CUT, CUT)
    with pytest.raises(ConfigurationError, match="new_columns is fail, ignore, add, not 'rest'"):
        landing_of(cuts, "consumer", "monday", new_columns="rest")
