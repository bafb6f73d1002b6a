"""A topic of a real Kafka is copied by runs of an asset."""

import dagster as dg
import pytest
from confluent_kafka import Producer
from tests.integration.pravega_jobs.kafka_topics import kafka

from aiopravega import StreamName
from dagster_pravega import PravegaResource, build_kafka_copy

__all__ = ["kafka"]
pytestmark = pytest.mark.xdist_group("kafka")


@pytest.fixture
def copy(scope, client, instance, pravega_config, kafka, tmp_path, monkeypatch):
    """Runs an asset that copies a topic of the scope's name; its result, and the metadata of what it has copied."""
    stream = StreamName(scope, "orders")
    client.create_stream(stream)
    kafka.make_topic(scope, 2)
    settings = tmp_path / "kafka.properties"
    settings.write_text(f"bootstrap.servers={kafka.bootstrap}\n")
    monkeypatch.setenv("PRAVEGA_KAFKA_PROPERTIES", str(settings))

    def copy(**arguments):
        asset = build_kafka_copy(scope, str(stream), retry_policy=dg.RetryPolicy(max_retries=0), **arguments)
        resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
        done = dg.materialize([asset], resources=resources, instance=instance, raise_on_error=False)
        [*made] = done.asset_materializations_for_node(f"copy_{'_'.join(asset.key.path)}".replace("-", "_"))
        return done.success, {name: entry.value for each in made for name, entry in each.metadata.items()}

    return copy


def test_runs_copy_what_is_new_and_say_what_is_left(copy, kafka, scope):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for value in (b"a", b"b", b"c"):
        producer.produce(scope, key=value, value=value)
    producer.flush(30)
    success, first = copy(step_records=2)
    assert (success, first["pravega/events"], first["pravega/steps"], first["kafka/left"]) == (True, 3, 2, 0)
    producer.produce(scope, key=b"d", value=b"d")
    producer.flush(30)
    assert copy()[1]["pravega/events"] == 1
    assert copy(options={"events": "record"}) == (False, {})
