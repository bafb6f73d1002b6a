"""The newest schema that the change events of a range carry, found on the driver by their last events."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.read.events import read_segment
from aiopravega.schema.debezium.connect import row_of
from aiopravega.schema.debezium.tables import TableFilter

# How much is read of the end of each segment, in pieces of this size, until a schema is found.
_PIECE_BYTES: Final = 1024 * 1024
_MOST_PIECES: Final = 4


def newest_schema(client: PravegaClient, ranges: Sequence[StreamCutRange], table: str | None) -> str:
    """The schema of the newest change event of a table, as JSON.

    Args:
        client: of the cluster.
        ranges: between resolved cuts, one for each stream.
        table: whose events are wanted, as option `table` names it, if several tables are in the streams.

    Raises:
        ConfigurationError: no event with a schema is near the end of any segment.
        PravegaError: the cluster cannot be reached, or refuses.
    """
    found = [
        event
        for wanted in ranges
        for part in client.plan(wanted)
        if (event := _last_with_schema(client, part, table)) is not None
    ]
    if not found:
        streams = ", ".join(sorted({str(wanted.start.stream) for wanted in ranges}))
        raise ConfigurationError(
            f"{streams}: no change event with a schema is in the last {_MOST_PIECES} MiB of a segment. Give the "
            "columns with .schema(…), or with option schema_file: one event with its schema, or a schema of Connect"
        )
    newest = max(found, key=lambda event: _time(event["payload"]))
    return json.dumps(newest["schema"], separators=(",", ":"))


def _last_with_schema(client: PravegaClient, part: SegmentRange, table: str | None) -> dict[str, Any] | None:
    count = max(1, part.size // _PIECE_BYTES)
    pieces = client.split_segments({part: count}) if count > 1 else [part]
    for piece in reversed(pieces[-_MOST_PIECES:]):
        for data in reversed(list(_events(client, piece))):
            event = _with_schema(data, table)
            if event is not None:
                return event
    return None


def _events(client: PravegaClient, piece: SegmentRange) -> Iterator[bytes]:
    async def read() -> list[bytes]:
        return [bytes(event.data) async for event in read_segment(client.store, piece)]

    yield from client.run(read())


def _with_schema(data: bytes, table: str | None) -> dict[str, Any] | None:
    if not data.startswith(b'{"schema":{'):
        return None
    try:
        event = json.loads(data)
        found = row_of(event["schema"])
        payload = event["payload"]
        known = isinstance(payload["source"], dict)
    except (ValueError, KeyError, TypeError, ConfigurationError):
        return None
    if found is None or not known:
        return None
    if table is not None and not len(TableFilter(table).rows(pa.array([json.dumps(payload).encode()], pa.binary()))):
        return None
    return dict(event)


def _time(payload: dict[str, Any]) -> tuple[int, int]:
    """When the change was made, and when Debezium saw it."""
    source = payload["source"]
    return int(source.get("ts_ms") or 0), int(payload.get("ts_ms") or 0)
