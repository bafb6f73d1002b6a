"""A job of many tasks across a scaling: its commits are taken together, so that the stream gets few epochs.

How many depends on how fast the controller takes the requests, so this runs alone, with `make proofs`.
"""

import uuid

import pytest

from aiopravega.bounded import each

TASKS = 200
# An epoch of the scaling itself, and two for each time that the controller takes commits of the old one.
MOST_EPOCHS = 10


@pytest.mark.slow
async def test_two_hundred_tasks_across_a_scaling_add_fewer_than_ten_epochs(driver, client, events_in):
    events = [str(uuid.uuid4()).encode() for _ in range(TASKS)]
    job = await driver.start()
    parts = await each(lambda item: driver.write_partition(*item), list(enumerate(events)), 8)
    await client.scale_stream(driver.sink, 3)

    await driver.protocol.commit(job, parts)

    epoch = max(entry.segment.epoch for entry in await client.controller.current_segments(driver.sink))
    assert epoch < MOST_EPOCHS
    assert await events_in() == sorted(events)
