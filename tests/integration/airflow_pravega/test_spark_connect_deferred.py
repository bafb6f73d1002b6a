"""Tasks that wait without a worker for a real Spark Connect server."""

import asyncio
import json
import os
import re
import subprocess
import sys
import uuid
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import polars as pl
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import Context
from tests.faults.process import ROOT
from tests.system.servers import free_ports

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import PravegaConnectionError
from airflow_pravega.operators.spark import PravegaSparkWriteOperator
from pravega_jobs.spark import connect
from pravega_jobs.writes import finished_write

JOB = Path(__file__).with_name("connect_deferred_job.py")
WHOLE = StreamCutRange(UNBOUNDED, UNBOUNDED)
NUMBERS = range(40)
pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("spark_connect")]


class Ended(NamedTuple):
    """The runs of DAGs of the job, by name, and what their process has said."""

    runs: dict[str, Any]
    said: str
    client: PravegaClient
    scope: str
    folder: Path

    def result(self, name):
        assert self.runs[name]["state"] == "success", self.said[-5000:]
        return self.runs[name]["result"]

    def contents(self, stream):
        found = self.client.read(WHOLE, StreamName(self.scope, stream))
        return sorted(event.data.decode() for event in found)

    def record(self, consumer):
        """The interval of the run."""
        ledger = self.client.cut_ledger(self.scope)
        [record] = ledger.records(consumer, StreamName(self.scope, "stream"))
        return record


@pytest.fixture(scope="module")
def run_all(pravega_config, connection_json, spark_connect_url, tmp_path_factory):
    """Runs DAGs of the job in one process: PySpark remembers in the environment that it has talked Spark Connect."""

    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

    def run_all(*names):
        scope, folder = f"scope-{uuid.uuid4().hex}", tmp_path_factory.mktemp("files")
        client.create_scope(scope)
        client.create_stream(f"{scope}/stream", ScalingPolicy.fixed(2))
        with client.writer(f"{scope}/stream") as writer:
            writer.write_many([json.dumps({"number": number}).encode() for number in NUMBERS])
        ended = subprocess.run(
            [sys.executable, str(JOB), scope, spark_connect_url, str(folder), *names],
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
            env=os.environ | {"AIRFLOW_CONN_PRAVEGA_DEFAULT": connection_json(pravega_config), "PYTHONPATH": path},
        )
        said = ended.stdout + ended.stderr
        assert ended.returncode == 0, said[-5000:]
        runs = dict(zip(names, json.loads(ended.stdout.splitlines()[-1]), strict=True))
        return Ended(runs, said, client, scope, folder)

    with PravegaClient(pravega_config) as client:
        yield run_all


@pytest.fixture(scope="module")
def ended(run_all):
    """The runs of all DAGs that end by themselves."""
    return run_all("read", "write", "write_again", "write_others", "double", "fail", "split", "local")


def test_a_deferred_read_shows_its_files_at_the_end(ended):
    result = ended.result("read")
    assert (result["events"], result["rows"]) == (40, 10)
    assert len(result["digest"]) == 64
    assert pl.read_parquet(ended.folder / "numbers/*.parquet")["number"].to_list() == list(range(10))
    assert not list(ended.folder.glob(".*"))
    assert ended.record("read").is_done
    assert "Waiting without a worker for operation" in ended.said


def test_a_deferred_write_is_done_once_and_then_compared(ended):
    first, again = ended.result("write"), ended.result("write_again")
    assert (first["written"], again["written"]) == (True, False)
    assert again["cuts"] == first["cuts"]
    assert ended.contents("made") == sorted(f"event {number}" for number in range(50))
    assert (ended.runs["write_others"]["state"], ended.runs["write_others"]["tries"]) == ("failed", 1)
    assert "WriteIdReusedError" in ended.said


def test_a_deferred_function_writes_its_range(ended):
    assert ended.result("double")["events"] == len(NUMBERS)
    assert ended.contents("double") == sorted(str(number * 2) for number in NUMBERS)
    assert ended.record("double").is_done


def test_a_deferred_failure_is_tried_again_and_recorded(ended):
    assert (ended.runs["fail"]["state"], ended.runs["fail"]["tries"]) == ("failed", 2)
    assert "ValueError: no such number" in ended.record("fail").reason


def test_a_deferred_range_that_was_split_wrongly_is_read_unsplit(ended):
    ended.result("split")
    assert ended.runs["split"]["tries"] == 1
    assert "so the range is read again unsplit" in ended.said
    assert ended.contents("split") == sorted(map(str, NUMBERS))
    assert ended.record("split").is_done


def test_a_deferred_task_is_refused_without_a_server(ended):
    assert (ended.runs["local"]["state"], ended.runs["local"]["tries"]) == ("failed", 1)
    assert "deferrable=True, but the master is local[2]" in ended.said


@pytest.mark.slow
def test_an_operation_ends_with_its_task(run_all, spark_connect_url):
    ended = run_all("endless")
    assert ended.runs["endless"]["state"] == "failed", ended.said[-5000:]
    assert "ran longer than the execution_timeout" in ended.record("endless").reason
    [found] = set(re.findall(r"operation (\S+) of session (\S+) on", ended.said))
    user = os.environ.get("SPARK_USER", os.environ.get("USER", ""))
    end = asyncio.run(follow(connect.Operation(spark_connect_url, user, found[1], found[0])))
    assert (end.has_ended_well, "SESSION_CLOSED" in end.message) == (None, True)


async def follow(operation):
    return await connect.Following(operation, (), lambda _: None).end()


@pytest.fixture
def unknown(spark_connect_url):
    """An operation that the server does not know."""
    return connect.Operation(spark_connect_url, "ada", str(uuid.uuid4()), str(uuid.uuid4()))


def test_the_record_decides_about_an_operation_that_is_forgotten(unknown, ended):
    end = asyncio.run(follow(unknown))
    assert (end.has_ended_well, "INVALID_HANDLE" in end.message) == (None, True)
    run = SimpleNamespace(partition_key=None, logical_date=datetime(2026, 1, 1, tzinfo=UTC), run_id="run")
    task = SimpleNamespace(dag_id="dag", task_id="task", map_index=-1, xcom_push=lambda **_: None)
    context: Context = {"ti": task, "dag_run": run}  # type: ignore[typeddict-item]  # all that is used

    def complete(claimant, write_id="rows"):
        made = f"{ended.scope}/made"
        write = PravegaSparkWriteOperator(task_id="task", stream=made, source="", write_id=write_id)
        begun = {"write": [made, "rows", 1, None], "attempt": None, "claimant": claimant, "columns": []}
        carried = {**begun, "operation": asdict(unknown), "since": "2026-01-01T00:00:00+00:00"}
        return write.execute_complete(context, {"status": "ended", "end": asdict(end), "carried": carried})

    client = ended.client
    record = client.run(finished_write(client.asynchronous, StreamName(ended.scope, "made"), "rows"))
    assert complete(record.claimant)["events"] == 50
    with pytest.raises(AirflowException, match="does not know the operation any more"):
        complete("another task, which has compared nothing")
    with pytest.raises(AirflowFailException, match="the task's arguments make it"):
        complete("", write_id="others")


def test_a_server_that_is_away_is_waited_for(unknown):
    [port] = free_ports(1)
    away = replace(unknown, url=f"sc://127.0.0.1:{port}")
    with pytest.raises(PravegaConnectionError, match="cannot be reached"):
        asyncio.run(follow(away))
    with pytest.raises(PravegaConnectionError, match="cannot be reached"):
        connect.end(away)
