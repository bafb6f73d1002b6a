"""A program without a scheduler that keeps tables after a stream, on a disk and in S3: killed, and run again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.landing_job import new_lake
from tests.pages.blocks import block_with

from aiopravega import ScalingPolicy, StreamName
from aiopravega.errors import NoRangeYetError
from pravega_jobs.keeping import KeepRules, keep_table

__all__ = ["client", "scope"]
JSON = KeepRules.of(columns="id long", options={"decode": "json"})


@pytest.fixture
def stream(client, scope):
    client.create_stream(f"{scope}/orders", ScalingPolicy.fixed(2))
    return StreamName(scope, "orders")


@pytest.fixture
def order(client, stream):
    def order(*numbers):
        with client.writer(stream) as writer:
            writer.write_many([json.dumps({"id": number}).encode() for number in numbers])

    return order


@pytest.fixture
def work(pravega_config, stream, tmp_path):
    """Runs the program; gives its result, or None if it was killed."""

    def work(interval: str, *step: str) -> Any:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri,
        }
        job = Path(__file__).with_name("keep_job.py")
        command = [sys.executable, str(job), stream.scope, f"delta:{tmp_path}/orders", interval, *step]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()[-3000:]
        return None if done.returncode else json.loads(done.stdout)

    return work


@pytest.mark.parametrize(
    ("event", "function", "action"),
    [("call", "keep_range", "append"), ("return", "put_rows", "nothing"), ("call", "with_upkeep", "nothing")],
)
def test_a_program_killed_at_a_step_takes_its_range_again(
    work, order, client, stream, tmp_path, event, function, action
):
    order(1, 2)
    assert work("monday", event, function) is None
    order(3)
    again = work("monday")
    assert (again["action"], again["rows"]) == (action, 2)
    tuesday = work("tuesday")
    assert (tuesday["action"], tuesday["rows"], tuesday["upkeep"]["compacted_files"]) == ("append", 1, 2)
    assert sorted(DeltaTable(tmp_path / "orders").to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]
    records = list(client.cut_ledger(stream.scope).records("lake", stream))
    assert [(record.interval, record.is_done) for record in records] == [("monday", True), ("tuesday", True)]


def test_a_range_that_failed_after_its_landing_is_closed_by_the_next(client, stream, order, tmp_path):
    table, ledger = f"delta:{tmp_path}/orders", client.cut_ledger(stream.scope)
    order(1)
    assert keep_table(client, stream, table, JSON, consumer="lake", interval="monday").rows == 1
    [monday] = ledger.records("lake", stream)
    ledger.reopen(monday.identity, "it was killed")
    for part in monday.parts:
        ledger.declare(monday.identity, part.name, part.sink)
    order(2)
    with pytest.raises(NoRangeYetError, match="monday"):
        keep_table(client, stream, table, JSON, consumer="lake", interval="tuesday")
    ledger.fail(monday.identity, "it was killed")
    kept = keep_table(client, stream, table, JSON, consumer="lake", interval="tuesday")
    assert (kept.rows, kept.cuts.start) == (1, monday.range.end)
    empty = keep_table(client, stream, table, JSON, consumer="lake", interval="wednesday")
    assert (empty.is_empty, empty.action.value) == (True, "nothing")
    assert sorted(DeltaTable(tmp_path / "orders").to_pyarrow_table()["id"].to_pylist()) == [1, 2]


def rows_of(table, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table of Iceberg, as Polars finds them."""
    return sorted(pl.scan_iceberg(table.load()).select(columns).collect().rows())


def test_iceberg_in_a_store_follows_rows_and_errors_and_is_kept_up(client, stream, order, s3, tmp_path):
    lake = new_lake("iceberg-s3", f"{tmp_path}/catalog#{s3}")
    table, errors = lake.table(), lake.table("errors")
    rules = KeepRules.of(columns="id long", options={"decode": "json"}, errors=errors, upkeep_after=2)

    def keep(interval: str) -> Any:
        return keep_table(client, stream, table, rules, consumer="lake", interval=interval).to_json()

    def write_bad() -> None:
        with client.writer(stream) as writer:
            writer.write(b"no JSON")

    order(1, 2)
    write_bad()
    first, again = keep("monday"), keep("monday")
    assert (first["action"], first["rows"], first["errors"], first["upkeep_error"]) == ("append", 2, 1, None)
    assert (again["action"], again["rows"], again["errors"]) == ("nothing", 2, 1)
    with table.load().update_schema(allow_incompatible_changes=True) as update:
        update.update_column("id", required=True)
    order(3)
    with client.writer(stream) as writer:
        writer.write(b'{"id": null}')
    second = keep("tuesday")
    assert (second["action"], second["rows"], second["errors"]) == ("append", 1, 1)
    assert [second[name]["compacted_files"] for name in ("upkeep", "errors_upkeep")] == [2, 2]
    assert rows_of(table, "id", "_interval") == [(1, "monday"), (2, "monday"), (3, "tuesday")]
    assert rows_of(errors, "event", "interval_name") == [(b"no JSON", "monday"), (b'{"id": null}', "tuesday")]
    assert keep("wednesday")["action"] == "nothing"
    assert all(record.is_done for record in client.cut_ledger(stream.scope).records("lake", stream))


def test_iceberg_in_a_store_has_the_last_row_of_each_key(client, stream, s3, tmp_path):
    table = new_lake("iceberg-s3", f"{tmp_path}/catalog#{s3}").table()
    rules = KeepRules.of(
        columns="id long, price double, gone boolean",
        options={"decode": "json", "metadata_columns": "segment_id,offset"},
        key="id",
        order_by=["segment_id", "offset"],
        delete_column="gone",
        partition_by=["bucket(4, id)"],
    )

    def priced(*prices: tuple[int, float | None]) -> None:
        rows = [{"id": number, "price": price, "gone": price is None} for number, price in prices]
        with client.writer(stream) as writer:
            writer.write_many([json.dumps(row).encode() for row in rows], [str(row["id"]) for row in rows])

    def keep(interval: str) -> Any:
        return keep_table(client, stream, table, rules, consumer="newest", interval=interval).to_json()

    priced((1, 1.0), (2, 2.0), (3, 3.0), (1, 1.5))
    first, again = keep("monday"), keep("monday")
    assert (first["action"], first["changes"]["inserted"], again["action"]) == ("merge", 3, "nothing")
    priced((3, 3.5), (2, None), (3, 4.0))
    second = keep("tuesday")
    assert (second["changes"]["updated"], second["changes"]["deleted"]) == (1, 1)
    assert rows_of(table, "id", "price") == [(1, 1.5), (3, 4.0)]
    assert [str(field.transform) for field in table.load().spec().fields] == ["bucket[4]"]


def test_the_code_of_the_page_takes_what_there_is(order, stream, tmp_path, pravega_config, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    order(1, 2)
    names: dict[str, Any] = {}
    code = block_with("keep-table", "keep_table(\n").code
    exec(code.replace("examples/orders", str(stream)).replace("/tmp/lake", str(tmp_path)), names)
    assert (names["kept"].rows, names["kept"].errors) == (2, 0)
