"""How many requests a description of a large group takes, and how many of them wait for others."""

import pytest
from benchmarks.groups import fill

from aiopravega import PravegaClient, ScalingPolicy, StreamName

READERS = 64
# The segments of the group's stream; its state, its mark, its length; the tail and the head; how the group is set up.
BESIDE_SEGMENTS = 12
DEEPEST = 8


@pytest.mark.parametrize("segments", [READERS, 3 * READERS])
async def test_a_description_takes_two_requests_a_segment_and_few_rounds(
    client, scope, pravega_config, requests, segments
):
    stream = StreamName(scope, "stream")
    assert await client.create_stream(f"{scope}/stream", ScalingPolicy.fixed(segments))
    await fill(client, stream, "group", READERS)

    async with PravegaClient(pravega_config) as new:
        requests.begin()
        described = await new.describe_reader_group(scope, "group")

    assert len(described.readers) == READERS
    assert sum(map(len, described.readers.values())) == segments
    # Where a segment is, and how long it is.
    assert requests.count <= 2 * segments + BESIDE_SEGMENTS
    assert requests.depth <= DEEPEST
