"""What tasks make of ranges without Spark, merged by its key in real DAG runs: by a function and by SQL."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
from airflow.sdk import DAG, task
from deltalake import DeltaTable

from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
READ: dict[str, Any] = {"columns": "carrier string, delay double"}
READ |= {"options": {"decode": "json", "metadata_columns": "segment_id,offset"}}
SUMS = "select carrier, sum(delay) as delay from events group by carrier"


def newest(flights: "pl.LazyFrame") -> pl.LazyFrame:
    return flights.with_columns(cancelled=pl.col("delay") < 0)


def test_what_tasks_make_of_a_range_is_merged_once_by_its_key(run, stream, client, tmp_path):
    tables = {name: f"delta:{tmp_path}/{name}" for name in ("function", "sql")}
    last: Any = {"key": ["carrier"], "order_by": ["segment_id", "offset"], "delete_column": "cancelled"}
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        cuts: Any = wait.output
        task.pravega(task_id="function", table=tables["function"], **last, **READ)(newest)(cuts)
        sums: Any = {"table": tables["sql"], "key": ["carrier"], "order_by": [], **READ}
        PravegaSqlOperator(task_id="sql", sql=SUMS, stream_cuts=cuts, **sums)

    def fly(*flights: tuple[str, float]) -> None:
        events = [json.dumps({"carrier": carrier, "delay": delay}).encode() for carrier, delay in flights]
        with client.writer(stream) as writer:
            writer.write_many(events, [carrier for carrier, _ in flights])

    def rows_of(name: str) -> dict[str, float]:
        found = DeltaTable(tmp_path / name).to_pyarrow_table().to_pylist()
        return {row["carrier"]: row["delay"] for row in found}

    fly(("AA", 5.0), ("AA", 7.5), ("UA", 1.0))
    first, again = run(dag, DAYS[0]), run(dag, DAYS[0])
    for name in tables:
        assert (first.result(name)["action"], first.result(name)["inserted"]) == ("merge", 2)
        assert again.result(name)["action"] == "nothing"
    fly(("UA", -1.0), ("DL", 3.0))
    second = run(dag, DAYS[1])
    assert [second.result("function")[name] for name in ("inserted", "deleted")] == [1, 1]
    assert [second.result("sql")[name] for name in ("inserted", "updated")] == [1, 1]
    assert rows_of("function") == {"AA": 7.5, "DL": 3.0}
    assert rows_of("sql") == {"AA": 12.5, "UA": -1.0, "DL": 3.0}
    records = list(client.cut_ledger(stream.scope).records("ada", stream))
    assert [record.state.value for record in records] == ["done", "done"]
    assert {part.sink.kind for record in records for part in record.parts} == {"merge"}
