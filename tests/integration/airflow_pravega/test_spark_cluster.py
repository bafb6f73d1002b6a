"""The Spark operators on a standalone cluster, whose master a connection of Spark's provider names."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from tests.faults.process import ProcessTree, wait_until

from aiopravega import UNBOUNDED, StreamCutRange

JOB = Path(__file__).with_name("connect_job.py")
HOME = Path(pyspark.__path__[0])
pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("spark_connect")]
ENVIRONMENT = os.environ | {"SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """A master and one worker, each a process: the master's URL, and its log."""
    folder = tmp_path_factory.mktemp("spark-cluster")
    master_log, worker_log = folder / "master.log", folder / "worker.log"
    with ExitStack() as stack:

        def start(kind: str, log: Path, *words: str) -> ProcessTree:
            with log.open("wb") as output:
                command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *words]
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=ENVIRONMENT,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            tree = ProcessTree(process, log)
            stack.callback(tree.kill)
            return tree

        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = start("master.Master", master_log, *address)
        named = re.compile(r"Starting Spark master at (spark://\S+)")
        wait_until(lambda: named.search(master_log.read_text()), master.said, every=0.5)
        found = named.search(master_log.read_text())
        assert found is not None
        worker = start("worker.Worker", worker_log, *address, "--cores", "2", "--memory", "1g", found[1])
        wait_until(lambda: "Successfully registered with master" in worker_log.read_text(), worker.said, every=0.5)
        yield found[1], master_log


def test_a_connection_of_spark_s_provider_names_the_cluster(
    client, stream, pravega_config, connection_json, cluster, tmp_path
):
    url, log = cluster
    host, port = url.removeprefix("spark://").split(":")
    with client.writer(stream.scope, stream.stream) as writer:
        writer.write_many([b"event-%d" % number for number in range(200)], [str(number) for number in range(200)])
    whole = StreamCutRange(client.head(stream.scope, stream.stream), client.tail(stream.scope, stream.stream))
    command = [sys.executable, str(JOB), "--stream", str(stream), "--sink", f"{stream.scope}/sink"]
    command += ["--cuts", json.dumps(whole.to_json()), "--output", str(tmp_path / "out")]

    ended = subprocess.run(
        [*command, "--spark-conn-id", "spark_cluster"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=ENVIRONMENT
        | {
            "AIRFLOW_CONN_PRAVEGA_DEFAULT": connection_json(pravega_config),
            "AIRFLOW_CONN_SPARK_CLUSTER": json.dumps({"conn_type": "spark", "host": host, "port": int(port)}),
        },
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    said = json.loads(ended.stdout.splitlines()[-1])
    assert said["read"]["events"] == said["read"]["rows"] == 200
    assert [once["written"] for once in said["written"]] == [True, False]
    found = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), client.head(stream.scope, "sink").stream)
    assert sorted(event.data for event in found) == sorted(b"EVENT-%d" % number for number in range(200))
    assert "Registered app" in log.read_text()
