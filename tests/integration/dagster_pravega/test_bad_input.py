"""What cannot work fails at once, with the client's own words, before Spark is asked and without retries."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame

from aiopravega import StreamName
from dagster_pravega import PravegaResource, PravegaSparkIOManager, pravega_stream_spec

RETRIES = 2
RETRY = dg.RetryPolicy(max_retries=RETRIES)

Attempt = Callable[..., tuple[str, int]]


def outcome(result: dg.ExecuteInProcessResult) -> tuple[str, int]:
    """What a failed run says of its failed step, and how often it was tried again."""
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    return error.to_string(), sum(event.is_step_up_for_retry for event in result.all_events)


@pytest.fixture
def read(instance, manager) -> Attempt:
    """Materializes an asset that reads a stream, and fails."""

    def read(stream: StreamName, cuts: dict[str, str], using: PravegaSparkIOManager = manager) -> tuple[str, int]:
        spec = pravega_stream_spec(str(stream))

        @dg.asset(ins={"flights": dg.AssetIn(spec.key, input_manager_key="pravega")}, retry_policy=RETRY)
        def copy(flights: DataFrame) -> None:
            raise AssertionError(f"the asset was computed from {flights}")

        config = {"ops": {"copy": {"inputs": {"flights": cuts}}}}
        return outcome(
            dg.materialize(
                [spec, copy], resources={"pravega": using}, run_config=config, instance=instance, raise_on_error=False
            )
        )

    return read


@pytest.fixture
def write(instance, manager) -> Attempt:
    """Materializes an asset that writes a frame to a stream, and fails."""

    def write(frame: DataFrame, stream: StreamName, using: PravegaSparkIOManager = manager, **settings: Any):
        metadata = {"pravega/stream": str(stream)}
        partitions = settings.pop("partitions_def", None)

        @dg.asset(io_manager_key="pravega", metadata=metadata, retry_policy=RETRY, partitions_def=partitions)
        def written() -> DataFrame:
            return frame

        resources = {"pravega": using}
        return outcome(
            dg.materialize([written], resources=resources, instance=instance, raise_on_error=False, **settings)
        )

    return write


def test_an_unknown_stream(read, scope):
    said, retries = read(StreamName(scope, "nothing"), {})
    assert "StreamNotFoundError" in said
    assert f"{scope}/nothing" in said
    assert retries == 0


def test_a_cut_of_another_stream(read, make_stream, client):
    stream, other = make_stream("stream"), make_stream("other")
    said, retries = read(stream, {"start": client.head(other).to_text()})
    assert f"the StreamCut is of {other}, but {stream} is to be read" in said
    assert retries == 0


def test_a_range_that_ends_before_it_starts(read, make_stream, append, client):
    stream = make_stream(segments=1)
    append(stream, ["a", "b"])
    head, tail = client.head(stream), client.tail(stream)
    said, retries = read(stream, {"start": tail.to_text(), "end": head.to_text()})
    assert "the range ends before it starts" in said
    assert retries == 0


def test_a_cut_that_was_truncated_away(read, make_stream, append, client):
    stream = make_stream(segments=1)
    head = client.head(stream)
    append(stream, ["a", "b"])
    client.truncate_stream(client.tail(stream))
    said, retries = read(stream, {"start": head.to_text()})
    assert "StreamTruncatedError" in said
    assert retries == 0


def test_a_text_that_is_no_cut(read, make_stream):
    said, retries = read(make_stream(), {"end": "tomorrow"})
    assert "'tomorrow' is not the text of a StreamCut" in said
    assert retries == 0


def test_no_server_is_worth_a_retry(read, make_stream):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nobody = PravegaResource(controller_uri=f"tcp://127.0.0.1:{port}", retry_timeout=0, connect_timeout=5)
    said, retries = read(make_stream(), {}, PravegaSparkIOManager(pravega=nobody))
    assert f"127.0.0.1:{port}" in said
    assert retries == RETRIES


def test_an_event_of_a_wrong_type(write, spark, make_stream, contents):
    stream = make_stream()
    said, retries = write(spark.range(5).selectExpr("id as event"), stream)
    assert "ConfigurationError: column 'event' is bigint" in said
    assert retries == 0
    assert contents(stream) == []


def test_a_sealed_stream(write, spark, make_stream, client):
    stream = make_stream()
    client.seal_stream(stream)
    said, retries = write(spark.range(5), stream)
    assert f"StreamSealedError: {stream} is sealed" in said
    assert retries == 0


def test_an_unknown_option(write, spark, make_stream, manager):
    using = PravegaSparkIOManager(pravega=manager.pravega, options={"transaction_timeout": "1000"})
    said, retries = write(spark.range(5), make_stream(), using)
    assert "has no option 'transaction_timeout': did you mean transaction_timeout_ms" in said
    assert retries == 0


def test_many_partitions_in_one_run_are_refused(write, spark, make_stream, contents):
    stream = make_stream()
    said, retries = write(
        spark.range(5),
        stream,
        partitions_def=dg.StaticPartitionsDefinition(["a", "b"]),
        tags={"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "b"},
    )
    assert "BackfillPolicy.multi_run(1)" in said
    assert retries == 0
    assert contents(stream) == []


SCRIPT = """
import sys
import dagster as dg
from dagster_pravega import PravegaResource, PravegaSparkIOManager, pravega_stream_spec

spec = pravega_stream_spec("no-such-scope/stream")

@dg.asset(ins={"flights": dg.AssetIn(spec.key, input_manager_key="pravega")})
def copy(flights) -> None: ...

manager = PravegaSparkIOManager(pravega=PravegaResource())
result = dg.materialize([spec, copy], resources={"pravega": manager}, raise_on_error=False)
assert not result.success
assert "pyspark" not in sys.modules
"""


def test_spark_is_not_even_imported_for_a_range_that_cannot_work(pravega_config):
    environment = {**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no-such-scope" in done.stderr
