"""Columns that grow: rows with other columns than their table's, in tables of each kind, judged by other readers.

Run as a program, it lands once for each step, each time in a fork that is killed there.
"""

import subprocess
import sys
import threading
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.faults.kill_calls import killed_at
from tests.integration.pravega_jobs.landing_job import CONSUMER, Lake, landing, new_lake, where_of

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder, Iceberg, ParquetFolder, Postgres, land

ONE = {"id": pa.array([1], pa.int32()), "price": pa.array([Decimal("1.50")], pa.decimal128(10, 2))}
MORE = {"note": pa.array(["x"]), "id": pa.array([2], pa.int32()), "at": pa.array([None], pa.timestamp("us", "UTC"))}
WIDE = {"id": pa.array([2**40], pa.int64()), "price": pa.array([Decimal("12345678901.50")], pa.decimal128(13, 2))}
_KILLED = "add_columns", "create_write_transaction"
_STEPS = 5  # before and after each, and the end


@pytest.fixture(params=["parquet", "delta", "delta-s3", "iceberg", "iceberg-s3", "postgres"])
def lake(request: pytest.FixtureRequest) -> Lake:
    kind = str(request.param)
    made: Lake = new_lake(kind, where_of(kind, request.getfixturevalue).replace("*", "lake"))
    return made


def put(columns: dict[str, pa.Array], table: Any, name: str, rule: str = "fail", generation: int = 1) -> Action:
    cuts = landing(name).cuts
    value = pa.table(columns)
    return land(value, table, cuts, consumer=CONSUMER, interval=name, generation=generation, new_columns=rule).action


def found(lake: Any, table: Any, columns: str) -> list[tuple[Any, ...]]:
    """The interval and some columns of each row, as readers of others find them."""
    query = f"select _interval, {columns} from "
    if isinstance(table, Postgres):
        return sorted(lake.ask(f"{query} {table.table}"), key=str)
    if isinstance(table, ParquetFolder):
        rows = f"read_parquet('{table.path}/landing=*/*.parquet', union_by_name = true)"
        return sorted(duckdb.execute(query + rows).fetchall(), key=str)
    is_delta = isinstance(table, DeltaFolder)
    read = DeltaTable(table.path).to_pyarrow_table() if is_delta else table.load().scan().to_arrow()
    return sorted(duckdb.from_arrow(read).project(f"_interval, {columns}").fetchall(), key=str)


def test_new_columns_are_refused_left_out_or_added_as_asked(lake):
    table, price = lake.table(), Decimal("1.50")
    put(ONE, table, "monday")
    with pytest.raises(LandingError, match="note.*new_columns='add'.*'ignore'.*Nothing was changed"):
        put(MORE, table, "tuesday")
    put(MORE, table, "ignored", "ignore")
    assert found(lake, table, "id, price") == [("ignored", 2, None), ("monday", 1, price)]
    assert [put(MORE, table, "added", "add"), put(MORE, table, "added", "add")] == [Action.APPEND, Action.NOTHING]
    assert put(ONE, table, "older", "add") is Action.APPEND
    assert put(MORE, table, "monday", "add", 2) is Action.REPLACE
    rows = [("added", 2, None, "x"), ("ignored", 2, None, None), ("monday", 2, None, "x"), ("older", 1, price, None)]
    assert found(lake, table, "id, price, note") == rows
    assert lake.leftovers(table) == []


def widens(table: Any) -> bool:
    return isinstance(table, Iceberg | Postgres)


def test_types_become_wider_or_are_refused_by_name(lake):
    table, price = lake.table(), Decimal("12345678901.50")
    put(ONE, table, "monday")
    if not widens(table):
        for rule in ("add", "ignore"):
            with pytest.raises(
                LandingError, match=r"id \(int in the table, bigint in the rows\); price.*keeps the type"
            ):
                put(WIDE, table, "wide", rule)
        assert found(lake, table, "id") == [("monday", 1)]
        return
    assert put(WIDE, table, "wide", "add") is Action.APPEND
    assert put(ONE, table, "narrow", "add") is Action.APPEND
    rows = [("monday", 1, Decimal("1.50")), ("narrow", 1, Decimal("1.50")), ("wide", 2**40, price)]
    assert found(lake, table, "id, price") == rows


def test_landings_that_add_columns_at_once_both_land(lake):
    table, start = lake.table(), threading.Barrier(2)
    put(ONE, table, "monday")

    def run(name: str) -> None:
        start.wait()
        put(ONE | {name: pa.array([name])}, table, name, "add")

    threads = [threading.Thread(target=run, args=(name,)) for name in ("left", "right")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expected = [("left", "left", None), ("monday", None, None), ("right", None, "right")]
    assert found(lake, table, '"left", "right"') == expected


def test_a_run_killed_between_columns_and_rows_of_delta_is_completed(tmp_path):
    lakes = [new_lake("delta", f"{tmp_path}/{step}") for step in range(_STEPS)]
    for each in lakes:
        put(ONE, each.table(), "monday")
    command = [sys.executable, "-m", __spec__.name, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True"] * (_STEPS - 1) + ["False"]
    landed = [("monday", 1), ("more", 2)]
    rows = [found(each, each.table(), "id") for each in lakes]
    assert rows == [landed[:1]] * (_STEPS - 2) + [landed] * 2
    assert ["note" in DeltaTable(each.table().path).schema().to_json() for each in lakes] == [False, *[True] * 4]
    actions = [put(MORE, each.table(), "more", "add") for each in lakes]
    assert actions == [Action.APPEND] * (_STEPS - 2) + [Action.NOTHING] * 2
    for each in lakes:
        assert found(each, each.table(), "id, note") == [("monday", 1, None), ("more", 2, "x")]


def main(where: str) -> None:
    """Land into the lakes of a folder, each by a fork that is killed at its step."""
    for step in range(_STEPS):
        table = DeltaFolder(f"{where}/{step}/orders")
        print(killed_at(partial(put, MORE, table, "more", "add"), _KILLED, step), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
