"""Delays of flights by carrier and day, computed by a program that is submitted to Spark with `spark-submit`.

The sensor hands on a range of the stream. The program, `example_dags/spark/delays_of_carriers.py`, reads it and writes
the delays to the stream of carriers, exactly once; where it runs, the connection `spark_default` of Airflow's provider
of Spark says. The same program runs under Dagster, too.

It reaches Pravega by the connection `pravega_default`. The root of the repository has to be on Python's path, and
`spark-submit` on that of the worker.
"""

from pathlib import Path

from airflow.sdk import DAG, Param

from airflow_pravega.operators.spark_submit import PravegaSparkSubmitOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

PROGRAM = Path(__file__).parents[1] / "spark" / "delays_of_carriers.py"

with DAG(
    "flights_submitted",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "flights": Param("examples/flights", type="string", description="stream of flights"),
        "carriers": Param("examples/carriers", type="string", description="stream of delays per carrier and day"),
    },
) as flights_submitted:
    wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.flights }}", deferrable=True, retries=1)
    PravegaSparkSubmitOperator(
        task_id="delays",
        application=str(PROGRAM),
        stream="{{ params.flights }}",
        stream_cuts=wait.output,
        into="{{ params.carriers }}",
        retries=2,
    )
