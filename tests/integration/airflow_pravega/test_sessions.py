"""A task uses the Spark session of its process, made by any thread, and leaves it running; a new one is quiet."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from aiopravega.jobs.spark_session import LOCAL, session_for_block


def test_a_session_of_another_thread_is_used_and_continues(spark: SparkSession):
    def task() -> tuple[str, bool]:
        with session_for_block("task", LOCAL, {}, package="airflow-provider-pravega") as session:
            found = SparkSession.getActiveSession()
            return session.sparkContext.applicationId, found is not None

    with ThreadPoolExecutor() as pool:
        assert pool.submit(task).result() == (spark.sparkContext.applicationId, True)
    assert spark.range(3).count() == 3


ALONE = """
import json
import psutil
from aiopravega.jobs.spark_session import session_for_block

for conf in ({"spark.ui.enabled": "true"}, {}):
    with session_for_block("task", "local[1]", conf, package="airflow-provider-pravega") as spark:
        assert spark.range(3).count() == 3
        url = spark.sparkContext.uiWebUrl
        port = url and int(url.rpartition(":")[2])
        jvms = [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
        at = {each.laddr for jvm in jvms for each in jvm.net_connections("tcp") if each.status == "LISTEN"}
        print(json.dumps([ip for ip, its in at if its == port]))
"""


def test_the_pages_of_spark_are_on_loopback_or_off_and_no_bar_is_drawn():
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"}
    ended = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    asked, by_default = map(json.loads, ended.stdout.splitlines()[-2:])
    assert [address.removeprefix("::ffff:") for address in asked] == ["127.0.0.1"]
    assert by_default == []
    assert "[Stage" not in ended.stderr
