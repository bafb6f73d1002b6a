"""What Spark writes, the official Python client reads: the same events, and keys in the segments where it puts them."""

import asyncio
import sys
from collections import Counter, defaultdict

from aiopravega import UNBOUNDED, StreamCutRange, StreamName

# The official client has no wheels beyond Python 3.11, so there these tests do not exist; on 3.11 they must run.
if sys.version_info < (3, 12):
    import pravega_client

    KEYS = [f"customer-{number}" for number in range(30)]

    async def read_officially(manager: pravega_client.StreamManager, stream: StreamName, count: int) -> list[bytes]:
        reader = manager.create_reader_group(f"group-{stream.scope}", stream.scope, stream.stream).create_reader(
            "reader"
        )
        found: list[bytes] = []
        async with asyncio.timeout(300):
            while len(found) < count:
                part = await reader.get_segment_slice_async()
                found += [bytes(event.data()) for event in part]
                reader.release_segment(part)
        reader.reader_offline()
        return found

    def test_the_official_client_reads_sparks_events_in_the_same_segments(spark, make_stream, pravega_config, client):
        sink = make_stream(5)
        manager = pravega_client.StreamManager(pravega_config.controller_uri)
        rows = [(f"{key}:{number}", key) for number in range(20) for key in KEYS]
        frame = spark.createDataFrame(rows, "event string, routing_key string").coalesce(1)
        options = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}

        frame.write.format("pravega").mode("append").options(**options).save()

        found = asyncio.run(read_officially(manager, sink, len(rows)))
        assert Counter(found) == Counter(event.encode() for event, _ in rows)
        by_key = defaultdict(list)
        for event in found:
            key, number = event.decode().split(":")
            by_key[key].append(int(number))
        assert by_key == {key: list(range(20)) for key in KEYS}

        writer = manager.create_writer(sink.scope, sink.stream)
        for key in KEYS:
            writer.write_event_bytes(f"{key}:20".encode(), routing_key=key)
        writer.flush()
        segments = defaultdict(set)
        for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink):
            segments[event.data.decode().split(":")[0]].add(event.segment)
        assert {key: len(owners) for key, owners in segments.items()} == dict.fromkeys(KEYS, 1)
