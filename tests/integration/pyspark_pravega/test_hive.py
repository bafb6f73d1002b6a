"""A table of a stream in Hive's metastore, in a process of its own: a session never changes its catalog."""

import subprocess
import sys
from pathlib import Path

import pytest

JOB = Path(__file__).with_name("hive_job.py")


@pytest.mark.slow  # a JVM with a metastore of its own; make test has the same table in Spark's own catalog
@pytest.mark.timeout(1500)
def test_hives_metastore_keeps_a_table(pravega_config, fill, make_stream, tmp_path):
    stream = make_stream(1)
    fill(stream, 25)
    command = [sys.executable, str(JOB), "--controller", pravega_config.controller_uri, "--folder", str(tmp_path)]

    ended = subprocess.run(
        [*command, "--scope", stream.scope, "--stream", stream.stream],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.split("\n")[-3:-1] == ["catalog hive", "events 25"]
