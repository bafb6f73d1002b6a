"""Copies of topics without a server: ends of steps, settings that keep secrets, events and routing keys of records."""

import pytest
from confluent_kafka import KafkaError, Message
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError, KafkaUnavailableError, RecordRefusedError, TopicCopyError
from pravega_jobs.events.batches import EventBatch
from pravega_jobs.kafka import CopiedPart, CopyOptions, KafkaCluster, KafkaConfig, Routing, Unkept
from pravega_jobs.kafka.copying import next_ends
from pravega_jobs.kafka.events import batch_of

SECRET = "open sesame"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-5, 50)), min_size=1, max_size=6), st.integers(1, 20))
def test_steps_reach_all_limits_within_their_size(partitions, most):
    starts = tuple(start for start, _ in partitions)
    limits = tuple(start + more for start, more in partitions)
    wanted = tuple(max(pair) for pair in zip(starts, limits, strict=True))
    at = starts
    for _ in range(400):
        ends = next_ends(at, limits, most)
        assert all(a <= end <= limit for a, end, limit in zip(at, ends, wanted, strict=True))
        assert sum(ends) - sum(at) <= most
        if ends == at:
            break
        at = ends
    assert at == wanted


def test_a_step_leaves_no_partition_far_behind():
    assert next_ends((0, 0, 0), (1000, 10, 1000), 110) == (50, 10, 50)


def test_settings_show_no_secrets(tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text(f"# ours\n\nbootstrap.servers = k:9092\nsasl.password={SECRET}\nsasl.username=copy\n")
    config = KafkaConfig.from_file(file)
    assert config.settings["sasl.password"] == SECRET
    assert SECRET not in f"{config} {config!r} {config.name}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sasl.username=x", "name no servers"),
        ("bootstrap.servers=k\ngroup.id=mine", "the copy decides about group.id"),
        ("bootstrap.servers=k\nno setting", "line 2 .* is not name=value"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(tmp_path, text, why):
    file = tmp_path / "kafka.properties"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=why):
        KafkaConfig.from_file(file)


def test_settings_of_other_clients_are_refused_by_name():
    config = KafkaConfig({"bootstrap.servers": "k", "ssl.truststore.password": SECRET})
    with pytest.raises(ConfigurationError, match=r"ssl\.truststore\.password") as raised:
        KafkaCluster(config)
    assert SECRET not in str(raised.value)


def test_a_server_that_is_not_there_is_named_within_the_time():
    cluster = KafkaCluster(KafkaConfig({"bootstrap.servers": "127.0.0.1:1"}, timeout=0.5))
    with pytest.raises(KafkaUnavailableError, match=r"Kafka at 127\.0\.0\.1:1: topic 'orders'"):
        cluster.topic("orders")


def record(**fields):
    return Message(topic="orders", partition=3, offset=9, **fields)


@pytest.mark.parametrize(
    ("routing", "key", "expected"),
    [
        (Routing.KEY, "größe".encode(), "größe"),
        (Routing.KEY, b"", ""),
        (Routing.KEY, None, "3"),
        (Routing.HEX, b"\xff\x00", "ff00"),
        (Routing.HEX, None, "3"),
        (Routing.PARTITION, b"k", "3"),
    ],
)
def test_routing_keys_follow_the_option(routing, key, expected):
    batch = batch_of([record(key=key, value=b"v")], CopyOptions(routing=routing))
    assert batch == EventBatch([b"v"], [expected])


def test_dropped_tombstones_have_no_event_and_headers_are_left_out():
    options = CopyOptions(tombstones=Unkept.DROP, headers=Unkept.DROP)
    batch = batch_of([record(key=b"k"), record(key=b"k", value=b"v", headers=[("h", b"1")])], options)
    assert batch == EventBatch([b"v"], ["k"])


def test_a_refusal_names_the_record_and_the_ways_out():
    with pytest.raises(RecordRefusedError) as raised:
        batch_of([record(key=b"\xff", value=b"v")], CopyOptions())
    said = str(raised.value)
    assert "offset 9 of partition 3 of topic 'orders' has a key that is not a text in UTF-8" in said
    assert "routing='hex'" in said


def test_a_whole_record_is_avro_of_its_fields():
    options = CopyOptions(events=CopiedPart.RECORD)
    batch = batch_of([record(key=b"k", headers=[("h", None)], timestamp=(1, -65))], options)
    # key "k", no value, one header "h" without a value, the end of headers, partition 3, offset 9, timestamp -65
    assert batch.events[0] == b"\x02\x02k\x00\x02\x02h\x00\x00\x06\x12\x02\x81\x01"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"url": "http://c", "basic.auth.user.info": SECRET}, "is not NAME:PASSWORD"),
        ({"url": "http://c", "keystore": SECRET}, r"schema\.registry\.keystore is not known"),
        ({"bearer.auth.token": SECRET}, r"schema\.registry\.url is not set"),
        ({"url": "http://c", "basic.auth.user.info": f"a:{SECRET}", "bearer.auth.token": SECRET}, "credentials"),
    ],
)
def test_settings_of_the_registry_are_checked_without_secrets(settings, why):
    given = {f"schema.registry.{name}": value for name, value in settings.items()}
    with pytest.raises(ConfigurationError, match=why) as raised:
        KafkaConfig({"bootstrap.servers": "k", **given})
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaUnavailableError),
        (KafkaError.LEADER_NOT_AVAILABLE, KafkaUnavailableError),
        (KafkaError.NOT_COORDINATOR, KafkaUnavailableError),
        (KafkaError.INVALID_PARTITIONS, TopicCopyError),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicCopyError),
    ],
)
def test_errors_of_brokers_that_start_can_pass(code, kind):
    cluster = KafkaCluster(KafkaConfig({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}))
    error = cluster.raised(KafkaError(code), "topic 'orders'")
    assert type(error) is kind
