"""The official Python client (`pravega` on PyPI) as a peer of the benchmarks; the commands of `JavaPeer.java`.

read   SCOPE STREAM EVENTS         one reader of a new reader group, until EVENTS events have come
write  SCOPE STREAM EVENTS SIZE    write_event_bytes, one flush at the end
"""

import asyncio
import json
import sys
import time
import uuid

import pravega_client


async def _read(manager: "pravega_client.StreamManager", scope: str, stream: str, events: int) -> tuple[int, int]:
    name = f"peer-{uuid.uuid4().hex}"
    group = manager.create_reader_group(name, scope, stream)
    reader = group.create_reader("reader")
    count = size = 0
    while count < events:
        part = await reader.get_segment_slice_async()
        for event in part:
            count += 1
            size += len(event.data())
        reader.release_segment(part)
    reader.reader_offline()
    return count, size


def _write(manager: "pravega_client.StreamManager", scope: str, stream: str, events: int, size: int) -> tuple[int, int]:
    writer = manager.create_writer(scope, stream)
    payload = bytes(size)
    for _ in range(events):
        writer.write_event_bytes(payload)
    writer.flush()
    return events, events * size


def main() -> None:
    """Answer commands from standard input until it ends."""
    manager = pravega_client.StreamManager(sys.argv[1])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command, scope, stream, *numbers = line.split()
        start = time.perf_counter()
        if command == "read":
            events, size = asyncio.run(_read(manager, scope, stream, int(numbers[0])))
        else:
            events, size = _write(manager, scope, stream, int(numbers[0]), int(numbers[1]))
        seconds = time.perf_counter() - start
        print(json.dumps({"events": events, "bytes": size, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
