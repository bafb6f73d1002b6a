"""A scratch scope for the rows of a replay: streams named as the outputs are, and writes that are done once.

The name of a write has a digest of its events: the same rows are there once, and other code makes another write.
"""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName, check_name
from pravega_jobs.events.batches import EventBatch, write_event_batches

_COLUMNS: Final = pa.schema([("event", pa.binary()), ("routing_key", pa.string())])
_DIGEST: Final = 8  # bytes
# The tag of streams that replays have made.
_TAG: Final = "pravega-replay"


class ScratchEvents(AbstractContextManager["ScratchEvents"]):
    """The events of one interval, in a file until all of them are known, and then in a stream of a scratch scope.

    Args:
        client: a connected client.
        stream: the stream in the scratch scope.
    """

    def __init__(self, client: PravegaClient, stream: StreamName) -> None:
        self._client = client
        self._stream = stream
        self._digest = hashlib.blake2b(digest_size=_DIGEST)

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="pravega-scratch-")
        self._file = Path(self._folder.name) / "events.arrow"
        self._writer = pa.ipc.new_stream(str(self._file), _COLUMNS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._writer.close()
        self._folder.cleanup()

    def keep(self, batch: EventBatch) -> None:
        """Store a batch of events."""
        keys = batch.routing_keys or [None] * len(batch.events)
        for event, key in zip(batch.events, keys, strict=True):
            self._digest.update(b"%d %d " % (len(event), -1 if key is None else len(key)))
            self._digest.update(event + (key or "").encode())
        self._writer.write_batch(
            pa.RecordBatch.from_arrays(
                [pa.array(batch.events, pa.binary()), pa.array(keys, pa.string())], schema=_COLUMNS
            )
        )

    def write(self, written_as: str) -> dict[str, str]:
        """Write the events that are stored, once; returns the stream and the write id.

        Args:
            written_as: the write id of the rows that they are compared with.

        Raises:
            ConfigurationError: others have made the stream.
            PravegaError: the cluster cannot be reached.
        """
        self._writer.close()
        self._client.create_scope(self._stream.scope)
        if not self._client.create_stream(self._stream, tags=(_TAG,)):
            _check_made_by_replays(self._client, self._stream)
        write_id = f"replay/{self._digest.hexdigest()}/{written_as}"
        write_event_batches(self._client, self._stream, write_id, self._stored())
        return {"stream": str(self._stream), "write_id": write_id}

    def _stored(self) -> Iterator[EventBatch]:
        with pa.memory_map(str(self._file)) as file:
            for batch in pa.ipc.open_stream(file):
                events, keys = (column.to_pylist() for column in batch.columns)
                yield EventBatch(events, keys)


def scratch_stream(client: PravegaClient, into: str, output: StreamName, source: StreamName) -> StreamName:
    """The stream in a scratch scope that is named as the output is; refuses streams that are used.

    Args:
        client: a connected client.
        into: the scratch scope.
        output: the stream that the intervals were written into.
        source: the stream of the intervals.

    Raises:
        ConfigurationError: it is not a name, or the scope of one of the streams, or has such a stream that others made.
        PravegaError: the cluster cannot be reached.
    """
    scope = check_name("scope", into)
    for stream in (source, output):
        if stream.scope == scope:
            raise ConfigurationError(
                f"into={into!r} is the scope of {stream}, which the replay reads: name another scope, which may be new"
            )
    stream = StreamName(scope, output.stream)
    if client.stream_exists(stream):
        _check_made_by_replays(client, stream)
    return stream


def _check_made_by_replays(client: PravegaClient, stream: StreamName) -> None:
    if stream not in client.list_streams(stream.scope, _TAG):
        raise ConfigurationError(
            f"{stream} is there, and no replay has made it, so somebody may use it: name another scope by into, or, if "
            f"nobody needs the stream, delete it, or give it the tag {_TAG}"
        )
