"""The Spark operators as in a task's process, on a Spark Connect server or a cluster; says what they returned."""

import argparse
import json
from datetime import UTC, datetime
from types import SimpleNamespace

from airflow.sdk import Context

from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator


def as_events(frame):
    from pyspark.sql import functions

    return frame.select(functions.upper(functions.col("event").cast("string")).alias("event"))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("stream", "sink", "cuts", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--master")
    arguments = parser.parse_args()
    run = SimpleNamespace(partition_key=None, logical_date=datetime(2026, 1, 1, tzinfo=UTC), run_id="run")
    task = SimpleNamespace(dag_id="dag", task_id="task", map_index=-1, xcom_push=lambda **_: None)
    context: Context = {"ti": task, "dag_run": run}  # type: ignore[typeddict-item]  # all that is used
    read = PravegaSparkReadOperator(
        task_id="read",
        stream=arguments.stream,
        stream_cuts=json.loads(arguments.cuts),
        output_path=arguments.output,
        digest=True,
        master=arguments.master,
    ).execute(context)
    write = PravegaSparkWriteOperator(
        task_id="write",
        stream=arguments.sink,
        source=arguments.output,
        transform=as_events,
        master=arguments.master,
    )
    written = [write.execute(context) for _ in range(2)]
    print(json.dumps({"read": read, "written": written}))


if __name__ == "__main__":
    main()
