"""A Spark job in a process of its own reads and writes ranges: recorded here, exactly once whatever dies there."""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    HandedRange,
    PravegaArrowIOManager,
    PravegaResource,
    RemoteRun,
    StreamCutPartitions,
    hand_over,
    pravega_stream_spec,
)
from pyspark_pravega.remote.dagster import open_pravega_pipes

JOB = Path(__file__).with_name("pipes_job.py")
EVENTS = sorted(f"event {number}" for number in range(20))


def write(client: PravegaClient, stream: StreamName, *events: str) -> None:
    with client.writer(stream) as writer:
        writer.write_many([event.encode() for event in events], events)


@pytest.fixture
def run(manager, instance):
    """Materializes an asset whose input another process reads; `before` is called with what is handed over."""

    def run(stream, *words, given=None, writes=None, retries=0, partitions=None, key=None, before=None, by=manager):
        spec = pravega_stream_spec(str(stream))

        @dg.asset(
            ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_io", metadata=given)},
            retry_policy=dg.RetryPolicy(max_retries=retries),
            partitions_def=partitions,
        )
        def elsewhere(
            context: dg.AssetExecutionContext,
            events: HandedRange,
            pravega: PravegaResource,
            jobs: dg.PipesSubprocessClient,
        ) -> dg.MaterializeResult[None]:
            work = hand_over(context, pravega, events, writes=None if writes is None else str(writes))
            if before is not None:
                before(context, work)
            command = [sys.executable, str(JOB), *words]
            return work.done(jobs.run(context=context, command=command, extras=work.extras, env=work.secrets))

        result = dg.materialize(
            [spec, elsewhere],
            selection=[elsewhere],
            resources={"pravega_io": by, "pravega": by.pravega, "jobs": dg.PipesSubprocessClient()},
            partition_key=key,
            instance=instance,
            raise_on_error=False,
        )
        if not result.success:
            failure = result.get_step_failure_events()[0].step_failure_data
            return str(failure.user_failure_data or failure.error)
        [materialization] = result.asset_materializations_for_node("elsewhere")
        return materialization

    return run


def metadata_of(materialization: dg.AssetMaterialization) -> dict[str, Any]:
    return {name: entry.value for name, entry in materialization.metadata.items()}


def test_a_job_killed_twice_reads_the_same_range_and_writes_it_once(client, stream, sink, run, contents):
    write(client, stream, *EVENTS)
    tries: list[str] = []

    def note(context: dg.AssetExecutionContext, work: RemoteRun) -> None:
        tries.append(json.dumps(work.extras["pravega"]["inputs"]["events"]["ranges"]))
        write(client, stream, f"late {context.retry_number}")  # the next try would read it if nothing were recorded

    found = run(stream, "copy", given={"pravega/since": "last"}, writes=sink, retries=2, before=note)

    assert len(tries) == 3
    assert len(set(tries)) == 1
    assert contents(sink) == EVENTS
    metadata = metadata_of(found)
    assert metadata["pravega/events"] == metadata["rows"] == len(EVENTS)
    assert "dagster/row_count" not in metadata  # of the whole stream, which nobody has counted
    assert metadata["pravega/write_id"].startswith("dagster/elsewhere/run ")
    assert metadata["pravega/stream"] == str(sink)
    between = client.read(StreamCutRange.from_json(metadata["pravega/cuts"]))
    assert sorted(event.data.decode() for event in between) == EVENTS
    assert found.tags["dagster/data_version"] == "..".join(metadata["pravega/cuts"].values())
    [record] = client.cut_ledger(stream.scope).records("dagster/elsewhere", stream)
    assert record.is_done
    assert metadata["pravega/interval"] == record.interval


@pytest.mark.xdist_group("spark_connect")  # with all others that need its server
def test_a_job_on_spark_connect_copies_its_range(client, stream, sink, run, contents, spark_connect_url):
    write(client, stream, *EVENTS)

    found = run(stream, "copy", spark_connect_url, writes=sink)

    assert contents(sink) == EVENTS
    assert metadata_of(found)["pravega/events"] == len(EVENTS)


def test_another_process_counts_a_secured_partition_and_shows_no_secret(
    pravega_emulator_secure, run, instance, monkeypatch, capfd
):
    config = pravega_emulator_secure.config
    assert config.password is not None
    secret = config.password.get_secret_value()
    monkeypatch.setenv("DAGSTER_TEST_PASSWORD", secret)
    resource = PravegaResource(
        controller_uri=config.controller_uri,
        username=config.username,
        password=dg.EnvVar("DAGSTER_TEST_PASSWORD"),
        ca_file=config.ca_file,
    )
    stream = StreamName(f"pipes-{uuid.uuid4().hex}", "rides")
    partitions = StreamCutPartitions(str(stream), consumer="counts")
    handed: list[str] = []
    with PravegaClient(config) as client:
        client.create_scope(stream.scope)
        client.create_stream(stream)
        write(client, stream, *EVENTS)
        ledger = client.cut_ledger(stream.scope)
        ledger.create()
        cuts = client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
        ledger.record(partitions.interval("first"), cuts, None, by="airflow")
        write(client, stream, "late")
        instance.add_dynamic_partitions(partitions.name, ["first"])

        found = run(
            stream,
            "count",
            partitions=partitions,
            key="first",
            before=lambda _, work: handed.append(f"{work} {work.extras}"),
            by=PravegaArrowIOManager(pravega=resource),
        )

        metadata = metadata_of(found)
        assert metadata["counted"] == metadata["pravega/events"] == len(EVENTS)
        assert metadata["pravega/cuts"] == cuts.to_json()
        assert metadata["pravega/consumer"] == "counts"
        assert found.tags["dagster/data_version"] == "mine"
        [record] = ledger.records("counts", stream)
        assert record.is_done
    [logs] = [instance.all_logs(run.run_id) for run in instance.get_runs()]
    shown = [*handed, *map(str, logs), *capfd.readouterr()]
    assert any("Reading 310 bytes of" in text for text in shown)
    assert not [text for text in shown if secret in text]


def test_a_job_that_has_not_done_its_work_is_not_taken_for_done(client, stream, sink, run):
    write(client, stream, *EVENTS)

    said = run(stream, "nothing", given={"pravega/since": "last"}, writes=sink)

    assert "has not read input 'events'" in said
    [record] = client.cut_ledger(stream.scope).records("dagster/elsewhere", stream)
    assert not record.is_done
    said = run(stream, "nothing", given={"columns": ["event"]})
    assert "select the columns of the DataFrame in that process" in said


def test_a_process_that_no_pipes_client_has_started_is_refused():
    with (
        pytest.raises(ConfigurationError, match="no Pipes client of Dagster has started this process"),
        open_pravega_pipes(),
    ):
        pass
