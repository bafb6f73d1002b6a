"""A process with OpenLineage's listener, as workers have it: runs a DAG over a stream. Arguments: scope, folder."""

import sys
from pathlib import Path

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.sdk import DAG, Asset, task
from airflow.utils.db import initdb
from example_dags import small_spark
from tests.integration.airflow_pravega.dag_bags import store

from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.operators.stream import PravegaCreateStreamOperator, PravegaDeleteStreamOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
DECODE = {"decode": "json", "schema_text": SCHEMA}


def as_events(frame):
    return frame.selectExpr("cast(a as string) as event")


def make_dag(scope: str, folder: Path) -> DAG:
    stream = f"{scope}/numbers"
    with DAG("lineage", schedule=None) as dag:
        make = PravegaCreateStreamOperator(task_id="make", stream=stream)
        write = PravegaWriteEventsOperator(task_id="write", stream=stream, events=[{"a": 1}, {"a": 2}])
        wait = PravegaStreamCutSensor(task_id="wait", stream=stream)
        read = PravegaReadEventsOperator(task_id="read", stream=stream, stream_cuts=wait.output, form="json")
        load = PravegaSparkReadOperator(
            task_id="load", stream=stream, stream_cuts=wait.output, options=DECODE, output_path=str(folder / "files")
        )
        copy = PravegaSparkWriteOperator(
            task_id="copy", source=str(folder / "files"), transform=as_events, stream=f"{scope}/copy"
        )

        @task.pravega_spark(task_id="function", stream=stream, into=f"{scope}/function", options=DECODE)
        def function(events):
            return as_events(events)

        @task(task_id="announce", outlets=[Asset("numbers", uri=f"pravega://{stream}")])
        def announce() -> None:
            pass

        delete = PravegaDeleteStreamOperator(task_id="delete", stream=stream)
        make >> write >> wait >> read >> load >> copy >> function(wait.output) >> announce() >> delete
    return dag


def main() -> None:
    scope, folder = sys.argv[1], Path(sys.argv[2])
    small_spark.use()
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    dags = folder / "dags"
    dags.mkdir()
    dag = make_dag(scope, folder)
    store(dag, dags)
    run = dag.test()
    assert run.state == "success", {ti.task_id: ti.state for ti in run.get_task_instances()}


if __name__ == "__main__":
    main()
