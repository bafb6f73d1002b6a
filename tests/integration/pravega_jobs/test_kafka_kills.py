"""A copy of millions of records while producers and a group run, amid kills of each process, and the group's cut.

`KAFKA_RECORDS` is the number of records (5,000,000). What is there in the end is judged by counts, by hashes of both
sides, by the order of each key, and by the records after the committed offsets of the group, which are counted again.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections import defaultdict, deque
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.faults.process import wait_until
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.kafka_topics import cluster, stream

from aiopravega import StreamCut, StreamCutRange
from aiopravega.errors import GroupAtWorkError, KafkaUnavailableError, TopicCopyError
from pravega_jobs.events.writes import EventTally
from pravega_jobs.kafka import compare_copy, copy_of, copy_topic, cut_over
from pravega_jobs.kafka.records import read_records

__all__ = ["client", "cluster", "scope", "stream"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("kafka")]
HERE = Path(__file__).parent
RECORDS = int(os.environ.get("KAFKA_RECORDS", "5000000"))
EPOCHS = 4  # three kills
PARTITIONS = 12
STEP = max(RECORDS // 20, 1000)
GROUP = "billing"


class Program:
    """A program that is started again each time it was killed; what it prints goes to a file."""

    def __init__(self, log, *words):
        self._words = [sys.executable, *map(str, words)]
        self._log = log
        self.kills = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=subprocess.STDOUT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def killed_and_started(self):
        self.kill()
        self.kills += 1
        self.start()


def ends(cluster, topic):
    """The number of offsets of a topic; 0 while Kafka starts."""
    try:
        return sum(cluster.last_offsets(cluster.topic(topic)))
    except KafkaUnavailableError:
        return 0


def has_more_than(cluster, topic, least):
    return ends(cluster, topic) > least


def test_millions_are_copied_once_amid_kills_of_each_process(
    client, pravega_config, kafka, cluster, scope, stream, tmp_path
):
    kafka.make_topic(scope, PARTITIONS)
    began = time.monotonic()
    clients, job = HERE / "kafka_clients.py", HERE / "kafka_job.py"
    copy_words = (job, pravega_config.controller_uri, kafka.bootstrap, scope, stream, STEP, GROUP)
    share = RECORDS * 4 // 13  # three producers are killed after three quarters of it
    kills: dict[str, int] = defaultdict(int)
    amid = 0
    log = tmp_path / "programs.log"
    with (
        Program(log, clients, "consume", kafka.bootstrap, scope, GROUP) as group,
        Program(log, *copy_words) as copy,
    ):
        for epoch in range(EPOCHS):
            before = ends(cluster, scope)
            with Program(log, clients, "produce", kafka.bootstrap, scope, epoch, share) as producer:
                wait_until(partial(has_more_than, cluster, scope, before + share // 2), log.read_text, every=0.5)
                if epoch < EPOCHS - 1:
                    amid += comes_to_a_step(client, stream)
                    for program in (copy, group):
                        program.killed_and_started()
                    kafka.kill()
                    kills["kafka"] += 1
                    kafka.start()
                    # The last producer is killed amid its records; a new epoch begins.
                    wait_until(
                        partial(has_more_than, cluster, scope, before + share * 3 // 4), log.read_text, every=0.5
                    )
                    kills["producer"] += 1
                else:
                    assert producer.process.wait() == 0, log.read_text()
        wait_until(lambda: is_copied(client, stream, 0.3 * RECORDS), log.read_text, every=1.0)
        kills["group"], kills["copy"] = group.kills, copy.kills
    # The group has ended, and its cut is before these.
    with Program(log, clients, "produce", kafka.bootstrap, scope, EPOCHS, STEP) as producer:
        assert producer.process.wait() == 0, log.read_text()
    cut = cut_of_group(client, cluster, scope, stream)
    copied = copy_topic(client, cluster, scope, stream)
    compared = compare_copy(client, cluster, scope, stream)
    topic = cluster.topic(scope)
    last = cluster.last_offsets(topic)
    rest, after = EventTally(), EventTally()
    order: dict[str, deque[int]] = defaultdict(deque)
    record: Any
    for page in read_records(cluster, topic, (0,) * PARTITIONS, last):
        for record in page:
            if record.offset() >= cut.offsets[record.partition()]:
                rest.add([(record.value(), None)])
            order[record.key().decode()].append(hash(record.value()))
    taken = StreamCutRange(StreamCut.from_text(cut.cut), client.tail(stream))
    after.add((event.data, None) for event in client.read(taken, stream))
    for event in client.read(StreamCutRange(client.head(stream), client.tail(stream)), stream):
        key = event.data.partition(b"-")[0].decode()
        assert order[key].popleft() == hash(event.data), key
    figures = {
        "records": ends(cluster, scope),
        "kills": dict(kills),
        "copies killed amid a step": amid,
        "steps": len(copy_of(client, stream).steps),
        "repeats": cut.repeats,
        "after the cut": after.rows.events,
        "seconds": round(time.monotonic() - began),
    }
    print(figures)
    assert compared.is_same, compared
    assert (compared.total.events, copied.left) == (ends(cluster, scope), 0)
    assert (cut.repeats, after.rows) == (0, rest.rows)
    assert after.rows.events >= STEP
    assert not any(order.values())
    assert kills == {"kafka": 3, "producer": 3, "group": 3, "copy": 3}


def comes_to_a_step(client, stream):
    """Wait until a copy is amid a step; False if it does not come to one, because there is nothing to copy."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(TopicCopyError):  # it has not begun
            steps = copy_of(client, stream).steps
            if steps and steps[-1].cuts is None:
                return True
        time.sleep(0.02)
    return False


def cut_of_group(client, cluster, topic, stream):
    """The cut of the group; its member that was killed is dropped after its session."""
    while True:
        try:
            return cut_over(client, cluster, topic, stream, GROUP)
        except GroupAtWorkError:
            time.sleep(1)


def is_copied(client, stream, least):
    steps = [step for step in copy_of(client, stream).steps if step.cuts is not None]
    return bool(steps) and sum(steps[-1].ends) >= least
