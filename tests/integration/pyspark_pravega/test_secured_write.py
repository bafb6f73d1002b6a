"""Exactly-once writes to a cluster with TLS and authentication, and what is said to an account that may only read."""

import uuid
from collections import Counter

import pytest

from aiopravega import UNBOUNDED, PravegaConfig, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient


def options_for(config: PravegaConfig, sink: StreamName) -> dict[str, str]:
    assert config.username is not None
    assert config.password is not None
    assert config.ca_file is not None
    return {
        "controller": config.controller_uri,
        "username": config.username,
        "password": config.password.get_secret_value(),
        "ca_file": config.ca_file,
        "scope": sink.scope,
        "stream": sink.stream,
    }


def test_an_account_that_may_write_writes_once(spark, pravega_emulator_secure):
    config = pravega_emulator_secure.config
    sink = StreamName(f"spark-{uuid.uuid4().hex}", "secured")
    frame = spark.range(0, 1000, numPartitions=3).selectExpr("cast(id as string) as event")

    for _ in range(2):
        frame.write.format("pravega").mode("append").options(**options_for(config, sink), write_id="daily").save()

    with PravegaClient(config) as client:
        found = Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))
    assert found == Counter(str(number).encode() for number in range(1000))


def test_an_account_that_may_only_read_is_refused_before_work_starts(spark, pravega_emulator_secure):
    sink = StreamName(f"spark-{uuid.uuid4().hex}", "secured")
    with PravegaClient(pravega_emulator_secure.config) as client:
        client.create_scope(sink.scope)
        client.create_stream(sink)
    reader = pravega_emulator_secure.config_for("reader")
    options = options_for(reader, sink)

    with pytest.raises(Exception, match=r"PermissionDeniedError: .*") as caught:
        spark.range(3).selectExpr("cast(id as string) as event").write.format("pravega").mode("append").options(
            **options
        ).save()

    assert options["password"] not in str(caught.value)
    with PravegaClient(pravega_emulator_secure.config) as client:
        assert not list(client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))
