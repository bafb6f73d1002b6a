"""Checks of data: how fresh a stream is, how many events, which do not decode, other columns than the schema's."""

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.dagster_tables.test_typed_tables import schema_of

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig
from aiopravega.schema.open import register_schema
from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    SchemaRegistryResource,
    build_decode_errors_check,
    build_row_count_check,
    build_schema_drift_check,
    build_stream_freshness_check,
    pravega_stream_spec,
)

JSON = {"decode": "json", "schema_text": json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})}
ERROR, WARN = dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN


@pytest.fixture
def resources(pravega_config, pravega_emulator):
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    registry = SchemaRegistryResource(uri=pravega_emulator.schema_registry_uri)
    tables = PravegaArrowIOManager(pravega=pravega, schema_registry=registry)
    return {"pravega": pravega, "schema_registry": registry, "tables": tables}


@pytest.fixture
def run(resources, instance):
    """The evaluation of a check."""

    def run(asset, check):
        job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())
        definitions = dg.Definitions([asset], asset_checks=[check], resources=resources, jobs=[job])
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance, raise_on_error=False)
        found = result.get_asset_check_evaluations()
        return found[0] if found else str(result.get_step_failure_events()[0].step_failure_data)

    return run


def note(client, stream, time):
    """Note an event time, and wait until a watermark has it."""
    number = int(time.timestamp() * 1000)
    client.note_time(stream, "writer", number)
    next(mark for mark in client.watermarks(stream, follow=True) if mark.lower == number)


def test_the_age_of_the_last_watermark_is_the_freshness_of_a_stream(client, scope, run):
    policy = ScalingPolicy.fixed(2)
    assert client.create_stream(f"{scope}/timed", policy, timestamp_aggregation_timeout=timedelta(minutes=5))
    stream = StreamName(scope, "timed")
    spec = pravega_stream_spec(str(stream))

    def verdict(**limits):
        found = run(spec, build_stream_freshness_check(spec, stream=str(stream), **limits))
        return found.passed, found.severity, found.description, found.metadata

    hour = timedelta(hours=1)
    passed, severity, text, metadata = verdict(warn_after=hour)
    assert (passed, severity) == (False, ERROR)
    assert "has no watermarks" in text

    noted = datetime.now(UTC) - 2 * hour
    note(client, stream, noted)
    passed, severity, text, metadata = verdict(warn_after=hour, error_after=3 * hour)
    assert (passed, severity) == (False, WARN)
    assert metadata["pravega/watermark_age_seconds"].value > 7200
    assert (
        metadata["pravega/complete_until"].value
        == noted.replace(microsecond=noted.microsecond // 1000 * 1000).isoformat()
    )
    assert verdict(warn_after=hour / 2, error_after=hour)[:2] == (False, ERROR)
    assert verdict(error_after=3 * hour)[0]
    # Milliseconds as microseconds: long ago.
    assert verdict(error_after=3 * hour, unit="us")[:2] == (False, ERROR)

    note(client, stream, datetime.now(UTC) + 2 * hour)
    passed, severity, text, _ = verdict(warn_after=hour)
    assert (passed, severity) == (False, ERROR)
    assert "in the future" in text
    assert verdict(warn_after=3 * hour)[0]

    client.seal_stream(f"{scope}/timed")
    passed, severity, text, _ = verdict(warn_after=3 * hour)
    assert (passed, severity) == (False, ERROR)
    assert "is sealed" in text


def test_a_reader_group_is_as_fresh_as_the_last_watermark_it_passed(client, scope, run):
    assert client.create_stream(f"{scope}/read", timestamp_aggregation_timeout=timedelta(minutes=5))
    stream, spec = StreamName(scope, "read"), pravega_stream_spec(f"{scope}/read")
    hour, now = timedelta(hours=1), datetime.now(UTC)

    def verdict(limit):
        check = build_stream_freshness_check(spec, stream=str(stream), group=f"{scope}/etl", error_after=limit)
        found = run(spec, check)
        return found.passed, found.description, found.metadata

    head = client.head(f"{scope}/read")
    client.publish_reader_group(scope, "etl", [head])
    with client.writer(f"{scope}/read") as writer:
        writer.write(b"old")
    note(client, stream, now - 3 * hour)
    first = client.tail(f"{scope}/read")
    assert "has not passed the first watermark" in verdict(9 * hour)[1]

    client.publish_reader_group(scope, "etl", [first])
    with client.writer(f"{scope}/read") as writer:
        writer.write(b"new")
    note(client, stream, now - hour)
    passed, text, metadata = verdict(2 * hour)
    assert not passed
    assert "which is more than" in text
    assert metadata["pravega/group"].value == f"{scope}/etl"
    assert metadata["pravega/watermark_age_seconds"].value > 3 * 3600
    assert verdict(4 * hour)[0]

    client.publish_reader_group(scope, "etl", [client.tail(f"{scope}/read")])
    assert verdict(2 * hour)[0]


def test_the_events_of_what_an_asset_wrote_are_counted(client, stream, resources, instance, run):
    @dg.asset(io_manager_key="tables", metadata={"pravega/stream": str(stream)})
    def rides():
        return pa.table({"event": ["one", "two", "three"]})

    def verdict(**limits):
        found = run(rides, build_row_count_check(rides, stream=str(stream), **limits))
        return found.passed, found.metadata["pravega/events"].value

    with client.writer(stream) as writer:
        writer.write_many([b"before"] * 5)
    assert verdict(min_rows=5, max_rows=5) == (True, 5)
    assert dg.materialize([rides], resources=resources, instance=instance).success
    assert verdict(min_rows=3, max_rows=3) == (True, 3)
    assert verdict(min_rows=4) == (False, 3)
    assert verdict(min_rows=2) == (True, "at least 2")
    assert verdict(max_rows=1) == (False, "at least 2")
    other = StreamName(stream.scope, "other")
    assert client.create_stream(other)
    refused = run(rides, build_row_count_check(rides, stream=str(other), min_rows=1))
    assert "InvalidStreamCutError" in refused


def test_events_that_do_not_decode_are_counted_and_shown(client, stream, run):
    good = [json.dumps({"id": number}).encode() for number in range(30)]
    with client.writer(stream) as writer:
        writer.write_many([*good, b"no json", b'{"id": "a word"}'])
    spec = pravega_stream_spec(str(stream), options=JSON)

    def verdict(asset=spec, **arguments):
        return run(asset, build_decode_errors_check(asset, stream=str(stream), **arguments))

    found = verdict(warn_errors=1, error_errors=2, sample=None)
    assert (found.passed, found.severity) == (False, WARN)
    assert (found.metadata["pravega/events"].value, found.metadata["pravega/failed"].value) == (32, 2)
    assert len(found.metadata["pravega/failures"].records) == 2
    assert verdict(error_errors=1).severity is ERROR
    assert verdict(error_errors=2).passed
    plain = pravega_stream_spec(str(stream))
    assert "are not decoded, so that none can fail" in verdict(plain, error_errors=0)
    assert "has no group" not in verdict(plain, error_errors=0, options=JSON).description


def test_columns_that_are_not_those_of_the_schema_are_shown(stream, resources, instance, run, pravega_emulator):
    @dg.asset(io_manager_key="tables", metadata={"pravega/stream": str(stream), "pravega/options": {"encode": "auto"}})
    def rides():
        return pa.table({"id": pa.array([1], pa.int64()), "routing_key": ["a"]})

    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as registry:

        def register(*names):
            registry.run(register_schema(registry.asynchronous, stream, schema_of(*names)))

        register("id")
        check = build_schema_drift_check(rides, stream=str(stream))
        found = run(rides, check)
        assert (found.passed, found.severity) == (False, ERROR)
        assert "has no columns" in found.description
        assert dg.materialize([rides], resources=resources, instance=instance).success
        assert run(rides, check).passed
        register("id", "minutes")
        found = run(rides, check)
        assert (found.passed, found.severity) == (False, WARN)
        assert found.description == "minutes: new in the registry"
        assert run(rides, build_schema_drift_check(rides, stream=str(stream), ignore=["minutes"])).passed
