"""DAGs whose tasks wait without a worker for a Spark Connect server; says how their runs have ended.

Arguments: the scope, the server, a folder, and the names of functions below, one for each run. Airflow's database is
there.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from tests.integration.airflow_pravega.dag_bags import store

from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

DAY = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS: Any = {"options": {"decode": "json"}, "columns": "number long"}


Common = dict[str, Any]


def cuts(scope: str, consumer: str) -> Any:
    wait = PravegaStreamCutSensor(task_id="wait", stream=f"{scope}/stream", consumer=consumer, poke_interval=1)
    return wait.output


def on_numbers(scope: str, common: Common, consumer: str, work: Callable[[DataFrame], DataFrame]) -> None:
    """A task that writes what a function makes of the numbers to a stream with the name of the consumer."""
    once: Any = task.pravega_spark(stream=f"{scope}/stream", into=f"{scope}/{consumer}", **NUMBERS, **common)
    once(work)(cuts(scope, consumer))


def read(scope: str, common: Common, folder: str) -> None:
    PravegaSparkReadOperator(
        stream=f"{scope}/stream",
        stream_cuts=cuts(scope, "read"),
        transform=lambda frame: frame.where("number < 10"),
        sort_by=["number"],
        output_path=f"{folder}/numbers",
        digest=True,
        **NUMBERS,
        **common,
    )


def write(scope: str, common: Common, _: str, marks: str = "") -> None:
    def rows(spark: Any, _: Any) -> Any:
        return spark.range(50).select(sql.concat(sql.lit(f"event{marks} "), "id").alias("event"))

    PravegaSparkWriteOperator(stream=f"{scope}/made", source=rows, write_id="rows", **common)


def write_again(scope: str, common: Common, folder: str) -> None:
    write(scope, common, folder)


def write_others(scope: str, common: Common, folder: str) -> None:
    write(scope, common, folder, marks="!")


def local(scope: str, common: Common, folder: str) -> None:
    write(scope, {**common, "master": "local[2]"}, folder)


def double(scope: str, common: Common, _: str) -> None:
    def doubled(numbers: DataFrame) -> DataFrame:
        return numbers.select((sql.col("number") * 2).cast("string").alias("event"))

    on_numbers(scope, common, "double", doubled)


def fail(scope: str, common: Common, _: str) -> None:
    def refuse(_: Any) -> Any:
        raise ValueError("no such number")

    on_numbers(scope, common, "fail", lambda numbers: numbers.mapInArrow(refuse, "event string"))


def split(scope: str, common: Common, folder: str) -> None:
    def checked(batches: Any) -> Any:
        from aiopravega.errors import SplitProofError

        mark = Path(folder) / "was split"
        if not mark.exists():
            mark.touch()
            raise SplitProofError("the stream's segment was split at 7")
        yield from batches

    def copies(numbers: DataFrame) -> DataFrame:
        return numbers.select(sql.col("number").cast("string").alias("event")).mapInArrow(checked, "event string")

    on_numbers(scope, common, "split", copies)


def endless(scope: str, common: Common, _: str) -> None:
    def sleep(batches: Any) -> Any:
        time.sleep(3600)
        yield from batches

    limits = {**common, "execution_timeout": timedelta(seconds=20), "retries": 0}
    on_numbers(scope, limits, "endless", lambda numbers: numbers.mapInArrow(sleep, "event string"))


def main(scope: str, master: str, folder: str, *names: str) -> None:
    common = {"task_id": "work", "master": master, "deferrable": True, "poll_interval": 0.5}
    said = []
    for name in names:
        make: Callable[..., None] = globals()[name]
        with DAG(f"dag-{scope}-{name}", schedule=None) as dag:
            make(scope, {**common, "retries": 1, "retry_delay": 0}, folder)
        store(dag, Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]))
        tasks = {each.task_id: each for each in dag.test(logical_date=DAY).get_task_instances()}
        work = tasks["work"]
        result = work.xcom_pull("work") if work.state == "success" else None
        said.append({"state": str(work.state), "tries": work.try_number, "result": result})
    print("\n" + json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
