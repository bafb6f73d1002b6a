"""A job on a standalone cluster of Spark, whose processes share a secret, and a Pravega with TLS and accounts.

The job has Pravega's password from its environment, and the workers have none. No secret is where it must not be: in a
command line, in a folder of a worker or of the driver, in a log, a plan or the event log.
"""

import json
import os
import secrets
import subprocess
import sys

import pytest
from tests.faults.process import ROOT
from tests.system.canaries import canaries, command_lines_watched, files_with, has
from tests.system.spark_cluster import SparkCluster

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

RIDES, LOUDER = StreamName("system-spark", "rides"), StreamName("system-spark", "louder")
EVENTS = [f"ride {number}" for number in range(2000)]


@pytest.fixture
def client(pravega_emulator_secure):
    with PravegaClient(pravega_emulator_secure.config) as owner:
        assert owner.create_scope(RIDES.scope)
        for stream in (RIDES, LOUDER):
            assert owner.create_stream(stream, ScalingPolicy.fixed(4))
        yield owner


def test_a_job_reads_and_writes_and_no_secret_shows(pravega_emulator_secure, client, tmp_path):
    with client.writer(RIDES) as writer:
        writer.write_many([event.encode() for event in EVENTS], [str(number) for number in range(len(EVENTS))])
    owner = pravega_emulator_secure.accounts[0]
    secret = secrets.token_hex()
    searched = [*canaries({owner.name: owner.password}), secret.encode()]
    events_folder, local = tmp_path / "events", tmp_path / "local"
    events_folder.mkdir()
    cluster = SparkCluster(
        tmp_path,
        {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secret,
            "spark.network.crypto.enabled": "true",
            "spark.io.encryption.enabled": "true",
            "spark.scheduler.listenerbus.logSlowEvent": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.executor.cores": "1",
            "spark.executor.memory": "768m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.cores.max": "2",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events_folder.as_uri(),
            "spark.local.dir": str(local),
        },
    )
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master {cluster.url} --properties-file {cluster.properties_file} pyspark-shell",
        "PRAVEGA_CONTROLLER_URI": pravega_emulator_secure.controller_uri,
        "PRAVEGA_CA_FILE": str(pravega_emulator_secure.ca_file),
        "PRAVEGA_USERNAME": owner.name,
        "PRAVEGA_PASSWORD": owner.password,
    }
    command = [sys.executable, "-m", "tests.system.spark.job", str(RIDES), str(LOUDER), "louder/1"]
    with command_lines_watched(searched) as lines, cluster, (tmp_path / "driver.log").open("w") as log:
        for _ in range(2):
            cluster.start_worker()
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as job:
            try:
                plan, found = _until_read(job)
                lying_about = _files_with(searched, tmp_path, cluster)
                rest, _ = job.communicate("\n", timeout=900)
            finally:
                job.kill()
        assert job.returncode == 0, (tmp_path / "driver.log").read_text()[-6000:]

    assert found["read"] == len(EVENTS)
    assert found["executors"] == 2
    copies = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), LOUDER)
    assert sorted(event.data.decode() for event in copies) == sorted(event.upper() for event in EVENTS)

    # What is looked for is there where it has to be, and found.
    lines.read()
    assert any(b"CoarseGrainedExecutorBackend" in line for line in lines.seen)
    assert has(searched, cluster.properties_file.read_bytes())
    assert list(events_folder.iterdir())
    assert "BatchScan" in plan
    assert not has(searched, (plan + rest).encode())
    assert lying_about == []
    assert _files_with(searched, tmp_path, cluster) == []
    assert lines.with_secret == set()


def _until_read(job):
    """What the job prints until its read is done: text, and a line of JSON."""
    text = ""
    for line in job.stdout:
        if line.startswith("{"):
            return text, json.loads(line)
        text += line
    raise AssertionError(text)


def _files_with(searched, folder, cluster):
    return [path for path in files_with(searched, folder) if path != cluster.properties_file]
