"""The official Python client (`pravega` on PyPI) as a peer of the benchmarks; the commands of `JavaPeer.java`.

read   SCOPE STREAM EVENTS         one reader of a new reader group, until EVENTS events have come
json   SCOPE STREAM EVENTS         the same, each event through json.loads, and all of them into a DataFrame of Polars
write  SCOPE STREAM EVENTS SIZE    write_event_bytes, one flush at the end
"""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import pravega_client


async def _read(
    manager: "pravega_client.StreamManager",
    scope: str,
    stream: str,
    events: int,
    use: Callable[[bytes], object] = lambda _: None,
) -> tuple[int, int]:
    name = f"peer-{uuid.uuid4().hex}"
    group = manager.create_reader_group(name, scope, stream)
    reader = group.create_reader("reader")
    count = size = 0
    while count < events:
        part = await reader.get_segment_slice_async()
        for event in part:
            count += 1
            data = event.data()
            size += len(data)
            use(data)
        reader.release_segment(part)
    reader.reader_offline()
    return count, size


def _read_json(manager: "pravega_client.StreamManager", scope: str, stream: str, events: int) -> tuple[int, int]:
    import polars as pl

    rows: list[dict[str, Any]] = []
    found = asyncio.run(_read(manager, scope, stream, events, lambda data: rows.append(json.loads(data))))
    assert pl.DataFrame(rows).height == events
    return found


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
        elif command == "json":
            events, size = _read_json(manager, scope, stream, int(numbers[0]))
        else:
            events, size = _write(manager, scope, stream, int(numbers[0]), int(numbers[1]))
        seconds = time.perf_counter() - start
        print(json.dumps({"events": events, "bytes": size, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
