"""Reads whole streams with Pravega's official Python client, in a process of its own: it waits forever at an end.

How much there is to read, the caller says in bytes with frames; what was read goes to a file, a pickled
dictionary from streams to lists of events in the order of the reader. It takes credentials from its environment.
"""

import argparse
import asyncio
import json
import os
import pickle
import sys
from pathlib import Path

_FRAME_HEADER = 8
_PATIENCE_SECONDS = 120.0

if sys.version_info < (3, 12):  # the official client has no wheels beyond 3.11
    import pravega_client

    async def _read(manager: "pravega_client.StreamManager", scope: str, stream: str, size: int) -> list[bytes]:
        found: list[bytes] = []
        if not size:
            return found
        reader = manager.create_reader_group(f"check-{stream}", scope, stream).create_reader("reader")
        while size > 0:
            part = await reader.get_segment_slice_async()
            if part is None:
                continue
            events = [bytes(event.data()) for event in part]
            size -= sum(_FRAME_HEADER + len(event) for event in events)
            found += events
            reader.release_segment(part)
        return found

    async def _read_all(controller: str, scope: str, sizes: dict[str, int]) -> dict[str, list[bytes]]:
        manager = pravega_client.StreamManager(controller, "pravega_client_auth_username" in os.environ, False)
        found: dict[str, list[bytes]] = {}
        for stream, size in sizes.items():
            found[stream] = await asyncio.wait_for(_read(manager, scope, stream, size), _PATIENCE_SECONDS)
        return found

    def main() -> None:
        """Read the streams of a scope; a JSON file has their sizes."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--controller", required=True)
        parser.add_argument("--scope", required=True)
        parser.add_argument("--sizes", type=Path, required=True)
        parser.add_argument("--out", type=Path, required=True)
        given = parser.parse_args()
        sizes = json.loads(given.sizes.read_text())
        given.out.write_bytes(pickle.dumps(asyncio.run(_read_all(given.controller, given.scope, sizes))))
        # The client's own threads outlive its readers, and one that answers while Python ends aborts the process.
        os._exit(0)

    if __name__ == "__main__":
        main()
