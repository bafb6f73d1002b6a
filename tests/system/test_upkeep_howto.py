"""The how-to page about upkeep: its code keeps a table up, by all hosts, with the rows as they were."""

import json
import shlex
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from deltalake import DeltaTable
from tests.pages.blocks import block_with, typed_on

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.commands.main import main
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.upkeep import PravegaTableUpkeepOperator
from dagster_pravega import build_table_upkeep
from pravega_jobs.landing import holdings, land

STREAM = StreamName("shop", "orders")
PAGE = "tables-upkeep"


@pytest.fixture
def orders(tmp_path):
    """Lands some ranges, and returns the table; each call lands others."""

    def orders():
        for number in range(len(holdings(table)), len(holdings(table)) + 3):
            cuts = [StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 10 * each}) for each in (number, number + 1)]
            rows = pa.table({"id": [number]})
            land(rows, table, StreamCutRange(*cuts), consumer="lake", interval=f"minute {number}")
        return table

    table = f"delta:{tmp_path}/orders"
    return orders


def files_of(table):
    return len(DeltaTable(table.removeprefix("delta:")).file_uris())


def run_block(text, tmp_path):
    names: dict[str, Any] = {}
    exec(block_with(PAGE, text).code.replace("/tmp/lake", str(tmp_path)), names)
    return names


def test_the_page_puts_files_together_by_python_and_by_each_host(orders, tmp_path):
    table = orders()
    done = run_block("keep_up(", tmp_path)["done"]
    assert (done.compacted_files, files_of(table)) == (3, 1)
    assert files_of(orders()) == 4
    operator = run_block("PravegaTableUpkeepOperator(", tmp_path)["upkeep"]
    assert (operator.execute({})["compacted_files"], files_of(table)) == (4, 1)
    assert operator.keep == timedelta(days=3)
    assert files_of(orders()) == 4
    result = run_block("build_table_upkeep(", tmp_path)["job"].execute_in_process()
    assert (result.output_for_node("upkeep_of_orders")["compacted_files"], files_of(table)) == (4, 1)
    assert sorted(DeltaTable(table.removeprefix("delta:")).to_pyarrow_table()["id"].to_pylist()) == list(range(9))
    assert len(holdings(table)) == 9


def test_the_command_says_what_it_would_do_and_does_it_with_yes(orders, tmp_path, capsys):
    table = orders()
    [said, does] = [line for line in "".join(typed_on(PAGE)).splitlines() if line]
    for line, status, files in ((said, 1, 3), (does, 0, 1), (said.replace("3d", "0s"), 1, 1)):
        words = shlex.split(line.replace("/tmp/lake", str(tmp_path)), comments=True)
        assert main(words[1:]) == status
        assert files_of(table) == files
    printed = capsys.readouterr()
    assert "3 files of" in printed.err
    assert "would be put together to 1" in printed.err
    assert "3 files of" in printed.err.splitlines()[-2]  # of those that are removed when no reader is left
    assert json.loads(printed.out)["compacted_files"] == 3
    assert main(["tables", "upkeep", f"parquet:{tmp_path}"]) == 2
    assert "tables of Parquet have no upkeep here" in capsys.readouterr().err
    assert main(["tables", "upkeep", table, "--dry-run"]) == 2
    assert "leave --yes out" in capsys.readouterr().err


@pytest.mark.parametrize("table", ["parquet:/tmp/lake/orders", "postgresql://ada:secret@db/lake#orders", "orders"])
def test_hosts_refuse_tables_without_an_upkeep_when_they_are_named(table):
    for error, make in (
        (AirflowFailException, lambda: PravegaTableUpkeepOperator(task_id="keep_up", table=table)),
        (ConfigurationError, lambda: build_table_upkeep(table)),
    ):
        with pytest.raises(error, match=r"delta:/folder") as refused:
            make()
        assert "secret" not in str(refused.value)
