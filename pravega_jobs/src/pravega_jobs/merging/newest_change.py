"""The newest change events of a range, found by the last events of each segment, without reading the rest."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.read.events import read_segment
from pravega_jobs.debezium.changes.connect import Meaning, row_of

# The end of each segment is read in pieces of this size, until an event is found.
_PIECE_BYTES: Final = 1024 * 1024
_MOST_PIECES: Final = 4


@dataclass(frozen=True, slots=True)
class NewestChange:
    """A change event.

    `schema`: the schema of Connect, if the event carries one. `columns`: the columns of the table by this schema.
    """

    payload: dict[str, Any]
    schema: dict[str, Any] | None = None
    columns: dict[str, Meaning] | None = None

    @property
    def has_row(self) -> bool:
        """True if the event has the row after the change."""
        return isinstance(self.payload.get("after"), dict)

    @property
    def time(self) -> tuple[int, int]:
        """The times of the change and of Debezium's read, in milliseconds since 1970."""
        return int(self.payload["source"].get("ts_ms") or 0), int(self.payload.get("ts_ms") or 0)


def newest_change(
    client: PravegaClient, ranges: Sequence[StreamCutRange], table: str | None, wanted: Callable[[NewestChange], bool]
) -> NewestChange | None:
    """The newest change event of a table; None: none is in the last 4 MiB of a segment.

    Args:
        client: a client of the cluster.
        ranges: ranges between resolved cuts, one for each stream.
        table: the table of the event, as option `table` names it, if the streams have several tables.
        wanted: True for an event that will do.

    Raises:
        PravegaError: the cluster cannot be reached, or refuses.
    """
    found = [
        event
        for each in ranges
        for part in client.plan(each)
        if (event := _last(client, part, table, wanted)) is not None
    ]
    return max(found, key=lambda event: event.time, default=None)


def newest_schema(client: PravegaClient, ranges: Sequence[StreamCutRange], table: str | None) -> str:
    """The schema of the newest change event of a table that carries one, as JSON.

    Args:
        client: a client of the cluster.
        ranges: ranges between resolved cuts, one for each stream.
        table: the table of the event, as option `table` names it, if the streams have several tables.

    Raises:
        ConfigurationError: no event with a schema is near the end of any segment.
        PravegaError: the cluster cannot be reached, or refuses.
    """
    found = newest_change(client, ranges, table, lambda event: event.columns is not None)
    if found is None:
        streams = ", ".join(sorted({str(wanted.start.stream) for wanted in ranges}))
        raise ConfigurationError(
            f"{streams}: no change event with a schema is in the last {_MOST_PIECES} MiB of a segment. Give the "
            "columns with .schema(…), or with option schema_file: one event with its schema, or a schema of Connect"
        )
    return json.dumps(found.schema, separators=(",", ":"))


def _last(
    client: PravegaClient, part: SegmentRange, table: str | None, wanted: Callable[[NewestChange], bool]
) -> NewestChange | None:
    count = max(1, part.size // _PIECE_BYTES)
    pieces = client.split_segments({part: count}) if count > 1 else [part]
    for piece in reversed(pieces[-_MOST_PIECES:]):
        for data in reversed(list(_events(client, piece))):
            event = _change_of(data, table)
            if event is not None and wanted(event):
                return event
    return None


def _events(client: PravegaClient, piece: SegmentRange) -> Iterator[bytes]:
    async def read() -> list[bytes]:
        return [bytes(event.data) async for event in read_segment(client.store, piece)]

    yield from client.run(read())


def _change_of(data: bytes, table: str | None) -> NewestChange | None:
    try:
        event = json.loads(data)
        carries = event.keys() == {"schema", "payload"}
        payload = event["payload"] if carries else event
        schema = event["schema"] if carries else None
        columns = None if schema is None else row_of(schema)
        known = isinstance(payload["source"], dict)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ConfigurationError):
        return None
    if not known or (schema is not None and columns is None):
        return None
    if table is not None:
        # Only here: it needs Arrow, which an installation of the client alone does not have.
        from pravega_jobs.debezium.changes.tables import TableFilter

        if not TableFilter(table).takes(json.dumps(payload).encode()):
            return None
    return NewestChange(payload, schema, columns)
