"""Executors in processes of their own read, write and follow streams: one Spark for all of it."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from tests.faults.process import ROOT
from tests.integration.pyspark_pravega.job import KEYS, ROWS

from aiopravega import UNBOUNDED, StreamCutRange

EVENTS, JOB_SECONDS = 4000, 1200
LIMIT = 20_000  # bytes for a micro-batch: a few of them


@pytest.mark.timeout(JOB_SECONDS + 300)  # three JVMs start on a machine that may be busy with other tests
def test_executors_of_a_cluster_read_write_and_follow(spark, client, fill, files, make_stream, pravega_config):
    stream, sink = make_stream(4), make_stream(4, "sink")
    events = fill(stream, EVENTS)
    command = [sys.executable, "-m", "tests.integration.pyspark_pravega.cluster_job"]
    command += ["--controller", pravega_config.controller_uri, "--scope", stream.scope, "--stream", stream.stream]
    command += ["--sink", sink.stream, "--limit", str(LIMIT), "--folder", str(files.folder)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=JOB_SECONDS, check=False)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["executors"] == 2
    assert len(said["segments"]) == 4
    assert sum(segment["events"] for segment in said["segments"]) == EVENTS
    assert all(segment["events"] == segment["distinct"] for segment in said["segments"])
    written = Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))
    assert written == Counter(f"key-{number % KEYS}:{number}".encode() for number in range(ROWS))
    assert files.contents(spark) == Counter(events)
    assert len(list((files.folder / "checkpoint" / "commits").glob("[0-9]*"))) > 1
