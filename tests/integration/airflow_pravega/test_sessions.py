"""A task uses the Spark session of its process, made by any thread, and leaves it running; a new one is quiet."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from pravega_jobs.spark.session import LOCAL, session_for_block


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
import sys
import psutil
from pravega_jobs.spark.session import pages_of
from pravega_jobs.spark.session import session_for_block

for conf in map(json.loads, sys.argv[1:]):
    with session_for_block("task", "local[1]", conf, package="airflow-provider-pravega") as spark:
        assert spark.range(3).count() == 3
        url = spark.sparkContext.uiWebUrl
        port = url and int(url.rpartition(":")[2])
        jvms = [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
        at = {each.laddr for jvm in jvms for each in jvm.net_connections("tcp") if each.status == "LISTEN"}
        pages = pages_of(spark)
        assert pages.live == (url or "")
        id_ = spark.sparkContext.applicationId
        print(json.dumps({"at": [ip for ip, its in at if its == port], "kept": pages.kept, "id": id_}))
"""


def run_alone(*settings: dict[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Sessions one after the other in a process of their own: where the pages of each are, and the error output."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("SPARK_CONF_DIR", "SPARK_LOCAL_IP")
    }
    command = [sys.executable, "-c", ALONE, *map(json.dumps, settings)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return [json.loads(line) for line in ended.stdout.splitlines()[-len(settings) :]], ended.stderr


PAGES = {"spark.ui.enabled": "true"}


def test_the_pages_of_spark_are_on_loopback_or_off_and_no_bar_is_drawn(tmp_path):
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": tmp_path.as_uri()}
    history = {"spark.yarn.historyServer.address": "history:18080"}
    (asked, by_default, kept), errors = run_alone(PAGES | history, {}, logged | history)
    assert [address.removeprefix("::ffff:") for address in asked["at"]] == ["127.0.0.1"]
    assert by_default["at"] == kept["at"] == []
    assert asked["kept"] == by_default["kept"] == ""
    assert kept["kept"] == f"http://history:18080/history/{kept['id']}"
    assert [file.name for file in tmp_path.iterdir()] != []
    assert "[Stage" not in errors


def test_the_spark_ui_stays_off_if_it_would_listen_on_all_addresses():
    found, errors = run_alone({}, PAGES)
    assert [each["at"] for each in found] == [[], []]
    assert "Spark's pages stay off" in errors
