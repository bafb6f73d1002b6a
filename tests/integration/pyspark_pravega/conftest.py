"""Streams, frames of them, jobs in processes of their own, and sinks for queries."""

import json
import os
import signal
import subprocess
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import CodecType, GroupProperties, RegistryConfig, SchemaInfo, header

Read = Callable[..., DataFrame]
Fill = Callable[..., list[bytes]]
# Of a query over all that there is, and of a whole job, on a machine that may be busy with other tests.
RUN_SECONDS, JOB_SECONDS = 600, 1200


@dataclass(frozen=True)
class Files:
    """Parquet files into which Spark writes every event of a query once, and the query's checkpoint."""

    folder: Path

    def start(self, frame: DataFrame) -> StreamingQuery:
        """Start a query, or the next run of one, that writes events as soon as there are any."""
        return self._writer(frame).trigger(processingTime="0 seconds").start()

    def run(self, frame: DataFrame) -> StreamingQuery:
        """Run a query over all that there is now."""
        query = self._writer(frame).trigger(availableNow=True).start()
        assert query.awaitTermination(RUN_SECONDS)
        return query

    def contents(self, spark: SparkSession) -> Counter[bytes]:
        """The events that have been written."""
        return Counter(bytes(row.event) for row in spark.read.parquet(str(self.folder / "events")).collect())

    def _writer(self, frame: DataFrame) -> DataStreamWriter:
        writer = frame.select("event").writeStream.format("parquet").option("path", str(self.folder / "events"))
        return writer.option("checkpointLocation", str(self.folder / "checkpoint"))


@dataclass
class Job:
    """A running job, in a session of its own so that all its processes can be found; what it says goes to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def succeed(self) -> str:
        """Wait for its end; returns what it said."""
        code = self.process.wait(JOB_SECONDS)
        assert code == 0, self.said()
        return self.said()

    def said(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        """Kill it and all that it started, wherever they moved to: driver, JVM, Python workers."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if os.getsid(int(entry.name)) == self.process.pid:
                        os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it ended by itself meanwhile
        self.process.wait(30)


Launch = Callable[[Sequence[str]], Job]


@pytest.fixture
def make_stream(client: PravegaClient, scope: str) -> Callable[..., StreamName]:
    """Makes streams in the test's scope."""

    def make(segments: int = 1, name: str = "stream") -> StreamName:
        assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make


@pytest.fixture
def read(spark, pravega_config) -> Read:
    """A DataFrame of a stream, with options."""

    def read(stream: StreamName, **options: object) -> DataFrame:
        named = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        texts = {name: str(value) for name, value in options.items()}
        frame: DataFrame = spark.read.format("pravega").options(**named | texts).load()
        return frame

    return read


@pytest.fixture
def follow(spark, pravega_config) -> Read:
    """A streaming DataFrame of a stream, with options."""

    def follow(name: StreamName, /, **options: object) -> DataFrame:
        named = {"controller": pravega_config.controller_uri, "scope": name.scope, "stream": name.stream}
        texts = {name: str(value) for name, value in (named | options).items() if value is not None}
        frame: DataFrame = spark.readStream.format("pravega").options(**texts).load()
        return frame

    return follow


@pytest.fixture
def launch(tmp_path) -> Iterator[Launch]:
    """Starts jobs; what is left of them at the end is killed."""
    jobs: list[Job] = []

    def launch(command: Sequence[str]) -> Job:
        log = tmp_path / f"{uuid.uuid4()}.log"
        with log.open("wb") as file:
            jobs.append(Job(subprocess.Popen(command, start_new_session=True, stderr=file), log))
        return jobs[-1]

    yield launch
    for job in jobs:
        if job.process.poll() is None:
            job.kill()


@pytest.fixture
def files(tmp_path) -> Files:
    """A sink that is exactly-once, and a checkpoint."""
    return Files(tmp_path)


@pytest.fixture
def fill(client) -> Fill:
    """Writes events `name-0 …`, each with a key of its own, and returns them."""

    def fill(stream: StreamName, count: int, name: str = "event") -> list[bytes]:
        events = [f"{name}-{number}".encode() for number in range(count)]
        with client.writer(stream) as writer:
            writer.write_many(events, [str(number) for number in range(count)])
        return events

    return fill


@pytest.fixture
def write(client):
    """Writes events with their routing keys."""

    def write(stream, events):
        with client.writer(stream) as writer:
            writer.write_many([event for event, _ in events], [key for _, key in events])

    return write


@pytest.fixture
def registry(pravega_emulator):
    """A client of the Schema Registry."""
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


@pytest.fixture
def register(registry):
    """Makes a group with schemas and codecs; gives the header of each schema with each codec."""

    def register(group, kind, schemas, codecs=("",), namespace="", name="demo.User"):
        registry.create_group(group, GroupProperties.of(kind, "AllowAny"), namespace)
        for codec in filter(None, codecs):
            registry.add_codec(group, CodecType(name=codec), namespace)
        headers = {}
        for number, schema in enumerate(schemas):
            version = registry.add_schema(group, SchemaInfo.of(kind, name, json.dumps(schema)), namespace)
            for codec in codecs:
                headers[number, codec] = header(registry.encoding_id(group, version, codec, namespace))
        return headers

    return register


@pytest.fixture
def changes(spark, pravega_config):
    """A DataFrame of change events; `columns` are given with .schema."""

    def changes(stream, columns=None, reader=None, **options):
        source = (reader or spark.read).format("pravega")
        if columns is not None:
            source = source.schema(columns)
        named = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        return source.options(**{"decode": "debezium-json", **named, **options}).load()

    return changes
