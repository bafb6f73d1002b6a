"""Amid a Spark read, the segment store is killed and restarts, and tokens run out: every event is read once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.integration.durable import TOKEN_SECONDS

from aiopravega.blocking import PravegaClient

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("durable")]
EVENTS, SIZE = 6_000, 10_000
WAIT_SECONDS = 200


@pytest.fixture(scope="module")
def stream(cluster):
    """60 MB in one segment: far more than what is under way between a reading task and the one after it."""
    with PravegaClient(cluster.config.model_copy(update={"retry_timeout": 120.0})) as client:
        client.create_scope("faults")
        client.create_stream("faults/spark")
        with client.writer("faults/spark") as writer:
            writer.write_many((b"%06d" % number).ljust(SIZE, b".") for number in range(EVENTS))
    return "faults/spark"


@pytest.fixture
def held(spark, cluster, stream, tmp_path):
    """Reads the stream, and stops during the read until `go` has been called."""
    config = cluster.config
    began, goes_on = tmp_path / "began", tmp_path / "goes-on"
    deadline = time.monotonic() + WAIT_SECONDS

    def hold(batches):
        for batch in batches:
            if not began.exists():
                began.touch()
                while not goes_on.exists() and time.monotonic() < deadline:
                    time.sleep(0.05)
            yield batch

    def read(meanwhile):
        reader = spark.read.format("pravega").options(controller=config.controller_uri, ca_file=config.ca_file)
        account = {"username": config.username, "password": config.password.get_secret_value()}
        frame = reader.options(**account, stream=stream, split_bytes="0").load()
        numbers = frame.select("event").mapInArrow(hold, "event binary").selectExpr("substr(event, 1, 6) AS number")
        with ThreadPoolExecutor(1) as pool:
            rows = pool.submit(numbers.collect)
            while not began.exists():
                assert not rows.done(), rows.result()
                time.sleep(0.05)
            meanwhile()
            goes_on.touch()
            return [int(bytes(row.number)) for row in rows.result(WAIT_SECONDS)]

    return read


def test_a_read_continues_after_the_segment_store_was_killed(held, cluster):
    def kill():
        cluster.kill("segmentstore")
        cluster.restart("segmentstore")

    assert held(kill) == list(range(EVENTS))


def test_a_read_continues_with_a_fresh_token(held):
    assert held(lambda: time.sleep(2 * TOKEN_SECONDS)) == list(range(EVENTS))
