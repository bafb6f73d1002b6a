"""A day's Spark job after a job of Java, and a day that is enriched again; the text is that of the how-to guide."""

import os

from airflow.sdk import DAG

from airflow_pravega.operators.reader_group import PravegaResetReaderGroupOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.sensors.reader_group import PravegaReaderGroupSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

STREAM, GROUP = "system-enriched/orders", "system-enriched/enrich"
FOLDER = os.environ["AIRFLOW_HOME"]

with DAG("report_after_enrichment", schedule=None):
    day = PravegaStreamCutSensor(task_id="day", stream=STREAM, min_bytes=1, deferrable=True)
    enriched = PravegaReaderGroupSensor(
        task_id="enriched", group=GROUP, past=day.output, by="checkpoint", deferrable=True, poll_interval=5.0
    )
    report = PravegaSparkReadOperator(
        task_id="report",
        stream=STREAM,
        stream_cuts=day.output,
        output_path=FOLDER + "/enriched/{{ ti.xcom_pull('day')['interval'] | replace(':', '') }}",
        digest=True,
        master="local[1]",
    )
    enriched >> report

with DAG("enrich_again", schedule=None):
    again = PravegaResetReaderGroupOperator(task_id="again", group=GROUP, parts="{{ dag_run.conf['start'] }}")
    enriched = PravegaReaderGroupSensor(
        task_id="enriched",
        group=GROUP,
        past="{{ dag_run.conf['end'] }}",
        newer_than="",
        by="checkpoint",
        deferrable=True,
        poll_interval=5.0,
    )
    again >> enriched
