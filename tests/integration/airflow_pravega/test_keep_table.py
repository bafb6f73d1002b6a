"""A table that follows a stream by one task: ranges, errors, merges and upkeep, also after kills and failures."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from deltalake import DeltaTable
from psycopg2 import connect
from tests.pages.blocks import block_with

from aiopravega.blocking import PravegaClient
from airflow_pravega.operators.keep_table import PravegaKeepTableOperator

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 7)]
JSON: Any = {"options": {"decode": "json"}, "columns": "id long, price double"}


@pytest.fixture
def make(stream, tmp_path):
    """Makes a DAG of one task that keeps a table after the stream."""

    def make(**arguments: Any) -> DAG:
        with DAG(f"dag-{stream.scope}", schedule=None) as dag:
            PravegaKeepTableOperator(
                task_id="keep",
                stream=str(stream),
                **{
                    "table": f"delta:{tmp_path}/orders",
                    "poke_interval": 1,
                    "poll_interval": 0.1,
                    **JSON,
                    **arguments,
                },
            )
        return dag

    return make


@pytest.fixture
def records(client: PravegaClient, stream):
    """The ranges that the task has taken, in their order."""
    return lambda: list(client.cut_ledger(stream.scope).records(f"dag-{stream.scope}/keep", stream))


@pytest.fixture
def order(write):
    def order(*numbers: int) -> None:
        write(*(json.dumps({"id": number, "price": number / 2}).encode() for number in numbers))

    return order


@pytest.fixture
def ids(tmp_path):
    return lambda: sorted(DeltaTable(tmp_path / "orders").to_pyarrow_table()["id"].to_pylist())


def test_each_run_takes_what_came_and_an_empty_one_is_skipped(run, make, order, ids, records, tmp_path):
    dag = make(upkeep_after=2)
    assert run(dag, DAYS[0]).state("keep") == "skipped"
    order(1, 2)
    first = run(dag, DAYS[1]).result("keep")
    assert (first["action"], first["rows"], first["errors"], first["upkeep"]) == ("append", 2, None, None)
    assert (first["table"], first["interval"]) == (f"delta:{tmp_path}/orders", DAYS[1].isoformat())
    again = run(dag, DAYS[1]).result("keep")  # cleared
    assert (again["action"], again["rows"], again["cuts"]) == ("nothing", 2, first["cuts"])
    assert run(dag, DAYS[2]).state("keep") == "skipped"
    order(3)
    second = run(dag, DAYS[3]).result("keep")
    assert (second["rows"], second["upkeep"]["compacted_files"]) == (1, 2)
    assert ids() == [1, 2, 3]
    assert len(DeltaTable(tmp_path / "orders").file_uris()) == 1
    assert [record.is_done for record in records()] == [True, True]
    assert [[part.name for part in record.parts] for record in records()] == [["keep"], ["keep"]]


def test_a_run_that_died_before_the_ledger_knew_takes_its_range_again(run, make, order, ids, records, client, stream):
    dag = make()
    order(1, 2)
    first = run(dag, DAYS[0]).result("keep")
    [record] = records()
    ledger = client.cut_ledger(stream.scope)
    ledger.reopen(record.identity, "its run has been killed")  # what a kill before the last record leaves
    ledger.expect(record.identity, ["keep"], claimant=record.claimant)
    order(3)
    again = run(dag, DAYS[0]).result("keep")
    assert (again["action"], again["rows"], again["cuts"]) == ("nothing", 2, first["cuts"])
    assert run(dag, DAYS[1]).result("keep")["rows"] == 1
    assert ids() == [1, 2, 3]
    assert [record.is_done for record in records()] == [True, True]


def test_a_failed_range_is_taken_over_with_the_events_after_it(run, make, order, write, ids, records, tmp_path):
    order(1)
    write(b"no JSON")
    failed = run(make(retries=1, retry_delay=0), DAYS[0])
    assert (failed.state("keep"), failed.tries("keep")) == ("failed", 1)
    [record] = records()
    assert "MalformedEventError" in str(record.reason)
    order(2)
    strict: Any = {"options": {"decode": "json", "missing_fields": "fail"}}
    kept = run(make(errors=f"delta:{tmp_path}/errors", **strict), DAYS[1]).result("keep")
    assert (kept["rows"], kept["errors"]) == (2, 1)
    assert ids() == [1, 2]
    [bad] = DeltaTable(tmp_path / "errors").to_pyarrow_table()["event"].to_pylist()
    assert bad == b"no JSON"


def test_a_deferred_task_goes_on_when_the_stream_moves(run, make, order, ids, meanwhile):
    dag = make(if_empty="wait", deferrable=True)
    with meanwhile(lambda: order(1)):
        done = run(dag, DAYS[0])
    assert (done.result("keep")["rows"], ids()) == (1, [1])


@pytest.fixture(params=["delta", "postgres"])
def kept(request, tmp_path, scope) -> tuple[dict[str, str], Callable[[], list[tuple[int, float]]]]:
    """The arguments that name a table of a kind, and a function that reads its rows."""
    if request.param == "delta":
        return {}, lambda: sorted(
            (row["id"], row["price"]) for row in DeltaTable(tmp_path / "orders").to_pyarrow_table().to_pylist()
        )
    dsn = request.getfixturevalue("warehouse")

    def rows() -> list[tuple[int, float]]:
        with closing(connect(dsn)) as connection, connection.cursor() as cursor:
            cursor.execute(f'select id, price from "{scope}" order by id')
            return list(cursor.fetchall())

    return {"table": scope, "postgres_conn_id": "warehouse"}, rows


def test_changes_are_merged_in_the_order_of_the_stream(run, make, write, kept):
    where, rows = kept

    def change(op: str, number: int, price: float, lsn: int) -> bytes:
        source = {"connector": "postgresql", "lsn": lsn, "ts_ms": lsn}
        row = {"id": number, "price": price}
        return json.dumps({"op": op, "before": None, "after": row, "source": source, "ts_ms": 1}).encode()

    dag = make(key=["id"], options={}, columns="id long, price double", **where)
    write(change("c", 1, 1.0, 10), change("c", 2, 2.0, 11))
    first = run(dag, DAYS[0]).result("keep")
    assert (first["action"], first["rows"], first["changes"]["inserted"]) == ("merge", 2, 2)
    write(change("u", 1, 5.0, 12))
    second = run(dag, DAYS[1]).result("keep")
    assert (second["changes"]["updated"], run(dag, DAYS[1]).result("keep")["action"]) == (1, "nothing")
    assert rows() == [(1, 5.0), (2, 2.0)]


def test_the_dag_of_the_page_and_the_example_take_what_there_is(run, stream, order, tmp_path, monkeypatch):
    order(1, 2)
    names: dict[str, Any] = {}
    code = block_with("keep-table", "PravegaKeepTableOperator(").code
    exec(code.replace("examples/orders", str(stream)).replace("/tmp/lake", str(tmp_path)), names)
    [watcher] = names["orders"].watchers
    assert watcher.trigger.consumer == "orders_table/keep"
    kept = run(names["dag"], DAYS[0]).result("keep")
    assert (kept["consumer"], kept["rows"], kept["errors"]) == (watcher.trigger.consumer, 2, 0)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "example_dags" / "airflow"))
    example = import_module("orders_kept").orders_kept
    conf = {"orders": str(stream), "table": f"delta:{tmp_path}/example"}
    assert run(example, DAYS[0], conf).result("keep")["rows"] == 2
