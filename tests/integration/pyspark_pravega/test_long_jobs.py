"""A job that takes many times longer than any lease that the server grants.

Two tasks write. One ends at once, and its process ends soon afterwards: Spark ends a Python worker after an idle
minute, or its executor is killed. The other one lasts for much longer than that. The server grants leases of
20 s here, where others grant ten minutes.
"""

import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

LONG_SECONDS = 150
LONGEST_LEASE_MS = 20_000
# How long the straggler works on after the executor of the other task is gone.
STRAGGLES_SECONDS = 60
PREEMPTED_JOB = Path(__file__).with_name("preempted_job.py")


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass on the rows; those of the second partition after a long time."""
    for batch in batches:
        if batch.column(0)[0].as_py() > 0:
            time.sleep(LONG_SECONDS)
        yield batch.append_column("event", batch.column(0).cast(pa.string())).select(["event"])


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_that_outlives_its_worker_and_leases_is_written_once(spark):
    sink = StreamName("long", f"jobs-{uuid.uuid4().hex}")
    settings = {"controller.transaction.lease.count.max": str(LONGEST_LEASE_MS)}
    with PravegaEmulator(settings=settings) as server, PravegaClient(server.config) as client:
        rows = spark.range(0, 2, numPartitions=2).mapInArrow(slowly, "event string")
        writer = rows.write.format("pravega").mode("append").option("transaction_timeout_ms", 10_000)
        writer.options(controller=server.controller_uri, scope=sink.scope, stream=sink.stream).save()

        found = Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))

    assert found == Counter([b"0", b"1"])


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_with_its_executor_killed_after_its_task_is_written_once(launch, tmp_path):
    sink = StreamName("long", f"jobs-{uuid.uuid4().hex}")
    settings = {"controller.transaction.lease.count.max": str(LONGEST_LEASE_MS)}
    with PravegaEmulator(settings=settings) as server, PravegaClient(server.config) as client:
        command = [sys.executable, str(PREEMPTED_JOB), "--controller", server.controller_uri, "--scope", sink.scope]
        command += ["--stream", sink.stream, "--folder", str(tmp_path), "--seconds", str(STRAGGLES_SECONDS)]
        launch(command).succeed()

        found = Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))

    assert (tmp_path / "killed").exists()
    assert found == Counter([b"0", b"1"])
