"""The Spark operators on a Spark Connect server, whose URL is the operator's master or the connection's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, StreamCutRange

JOB = Path(__file__).with_name("connect_job.py")
pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("spark_connect")]


@pytest.mark.parametrize("source", ["connection", pytest.param("operator", marks=pytest.mark.slow)])
def test_a_range_is_read_and_written_once(
    client, stream, pravega_config, connection_json, spark_connect_url, tmp_path, source
):
    with client.writer(stream) as writer:
        writer.write_many([b"event-%d" % number for number in range(200)], [str(number) for number in range(200)])
    whole = StreamCutRange(client.head(stream), client.tail(stream))
    master = {"spark_master": spark_connect_url} if source == "connection" else {}
    command = [sys.executable, str(JOB), "--stream", str(stream), "--sink", f"{stream.scope}/sink"]
    command += ["--cuts", json.dumps(whole.to_json()), "--output", str(tmp_path / "out")]
    command += ["--master", spark_connect_url] if source == "operator" else []

    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"AIRFLOW_CONN_PRAVEGA_DEFAULT": connection_json(pravega_config, **master)},
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "is written directly" not in ended.stdout + ended.stderr  # the folder is mounted on both sides
    said = json.loads(ended.stdout.splitlines()[-1])
    assert said["read"]["events"] == said["read"]["rows"] == 200
    assert len(said["read"]["digest"]) == 64
    assert [once["written"] for once in said["written"]] == [True, False]
    found = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), client.head(f"{stream.scope}/sink").stream)
    assert sorted(event.data for event in found) == sorted(b"EVENT-%d" % number for number in range(200))


KILLED = """
import sys, threading, time
from pravega_jobs.spark.session import interruptible, session_for_block

session = session_for_block("name", sys.argv[1], {}, package="airflow-provider-pravega")
with session as spark, interruptible(spark, "name") as interrupt:
    def slow(batches):
        time.sleep(600)
        yield from batches

    def kill():
        while not (found := interrupt()):
            time.sleep(0.1)
        print("interrupted", len(found))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        spark.range(2).mapInArrow(slow, "id long").collect()
    except Exception as error:
        print("ended", "CANCEL" in str(error).upper())
    killer.join()
"""


def test_a_killed_task_ends_its_jobs(spark_connect_url):
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, spark_connect_url], capture_output=True, text=True, timeout=600, check=False
    )

    assert sorted(ended.stdout.split("\n")[:2]) == ["ended True", "interrupted 1"], ended.stderr[-3000:]
