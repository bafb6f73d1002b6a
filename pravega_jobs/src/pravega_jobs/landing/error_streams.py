"""Errors streams: each error of a landing or a write is one event, written once, under a name that its note has.

An event is a JSON object with the columns of an errors table, also `_consumer` and `_interval`: consumer and name of
the errors. The write id has both. A stream cannot take events back: errors of runs that were killed, and of older
generations, stay in it, and do not count. Events of others may be in it, too, and are skipped.

Errors are counted by the records of their writes in the ledger: committed events do not change, so that all are there
if the stream begins before them. Only where retention has removed some are events read.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    LandingError,
    StreamNotFoundError,
    TableNotFoundError,
    WriteIdReusedError,
    WriteSupersededError,
)
from aiopravega.ledger import CommitRecord
from aiopravega.names import StreamName
from aiopravega.read import Event
from aiopravega.sizes import MAX_EVENT
from pravega_jobs.events.batches import EventBatch, write_event_batches
from pravega_jobs.landing.error_sinks import NAME, ErrorsSink, StoredErrors
from pravega_jobs.landing.rules import CONSUMER_COLUMN, INTERVAL_COLUMN, OWN_COLUMNS, Holding, Landing
from pravega_jobs.writes import finished_write, finished_writes

if TYPE_CHECKING:
    import pyarrow as pa

WORD: Final = "stream:"
_WRITE_ID: Final = re.compile(rf"(?P<name>{NAME.pattern}) of (?P<consumer>.*)", re.DOTALL)
# Events that are encoded or decoded at a time, and about so many bytes of them.
_MOST_EVENTS: Final = 1000
_MOST_BYTES: Final = 4 * 1024 * 1024
_EVERYTHING: Final = StreamCutRange(UNBOUNDED, UNBOUNDED)


@dataclass(frozen=True, slots=True)
class ErrorsStream(ErrorsSink):
    """An errors stream, which must exist.

    Args:
        stream: the stream.
        client: a connected client; None: one is opened when it is needed, by the settings of the environment.
    """

    stream: StreamName
    client: PravegaClient | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_text(cls, text: str) -> Self | None:
        """The errors stream that a text names, as `stream:scope/name`; None: it begins otherwise.

        Raises:
            ConfigurationError: the text has no scope, or a name that no stream can have.
        """
        return cls(StreamName.parse(text.removeprefix(WORD))) if text.startswith(WORD) else None

    def location(self) -> str:
        """The stream, as users write it."""
        return f"{WORD}{self.stream}"

    def with_client(self, client: PravegaClient) -> Self:
        """The same stream, reached by a client if it has none."""
        return self if self.client is not None else replace(self, client=client)

    def check(self, landing: Landing) -> None:
        """Check that the stream exists, and is not the one whose events are landed.

        Raises:
            ConfigurationError: it is that one.
            StreamNotFoundError: it does not exist.
        """
        if landing.interval.stream == self.stream:
            raise ConfigurationError(
                f"the errors of {self.stream} cannot go into the same stream: each would be read again, as an event "
                "of the next range. Name another stream"
            )
        self.check_exists()

    def check_exists(self) -> None:
        """Check that the stream exists.

        Raises:
            StreamNotFoundError: it does not.
        """
        with connected(self.client) as client:
            if not client.stream_exists(self.stream):
                raise StreamNotFoundError(
                    f"the errors stream {self.stream} does not exist: make it, for example with pravega streams create"
                )

    def put(self, rows: "pa.Table", landing: Landing) -> None:
        """Write errors once.

        Raises:
            LandingError: an error is too long for an event; or an earlier run has written them, and the stream has lost
                some since.
        """
        self.put_under(rows, landing.interval.consumer, landing.interval.name, landing)

    def put_under(self, rows: "pa.Table", consumer: str, name: str, what: object) -> None:
        """Write errors once under the consumer and the name of a landing or a write, which is `what` for messages.

        Raises:
            LandingError: as `put`.
        """
        write_id = write_id_of(consumer, name)
        with connected(self.client) as client:
            record = self._record(client, write_id)
            if record is None:
                self._write(client, write_id, _letters(rows, consumer, name, what))
                return
            found = self._count(client, record, consumer, name)
        if found != rows.num_rows:
            raise LandingError(
                f"{what}: an earlier run has written {rows.num_rows} errors to {self.stream} as write {write_id!r}, "
                f"and {found} are there: retention has removed some, or the stream was truncated. Land the interval as "
                "its next generation, which writes them again. Nothing was changed"
            )

    def count(self, landing: Landing) -> int:
        """The number of errors that the stream has of a landing of errors."""
        one = landing.interval
        write_id = write_id_of(one.consumer, one.name)
        with connected(self.client) as client:
            record = self._record(client, write_id)
            return 0 if record is None else self._count(client, record, one.consumer, one.name)

    def all(self) -> list[StoredErrors]:
        """All errors in the stream, by the records of their writes; events are read where retention has removed some.

        Raises:
            PravegaError: the stream or the ledger in its scope cannot be asked.
        """
        with connected(self.client) as client:
            try:
                head = client.head(self.stream)
                records = client.run(finished_writes(client.asynchronous, self.stream))
            except (StreamNotFoundError, TableNotFoundError):
                return []
            return [
                StoredErrors(*names, record.total_events, self._found(client, record, head, *names))
                for record in records
                if (names := _names_of(record.write_id))
            ]

    def read(self, errors: StoredErrors) -> "Iterator[pa.RecordBatch]":
        """Errors batch by batch."""
        from pravega_jobs.error_rows import TABLE_COLUMNS

        with connected(self.client) as client:
            record = self._record(client, write_id_of(errors.consumer, errors.name))
            wanted = _EVERYTHING if record is None else _range_of(client, record)
            for batch in self._batches_of(client, wanted, errors.consumer, errors.name):
                yield batch.select(TABLE_COLUMNS.names)

    def take_out(self, is_other: Callable[[Holding], bool]) -> None:
        """Nothing: events cannot be taken out of a stream."""

    def _record(self, client: PravegaClient, write_id: str) -> CommitRecord | None:
        return client.run(finished_write(client.asynchronous, self.stream, write_id))

    def _write(self, client: PravegaClient, write_id: str, letters: Iterable[EventBatch]) -> None:
        try:
            # The note of the landing or the write names this one for as long as the rows are there.
            write_event_batches(client, self.stream, write_id, letters, retain=None)
        except (WriteIdReusedError, WriteSupersededError):
            # Another run of the same work was first, with the same events: only times or reasons differ.
            if self._record(client, write_id) is None:
                raise

    def _found(self, client: PravegaClient, record: CommitRecord, head: StreamCut, consumer: str, name: str) -> int:
        """The number of errors of a write that the stream has, which begins at a cut."""
        whole = record.cuts is not None and is_whole(record.cuts.start, head)
        return record.total_events if whole else self._count(client, record, consumer, name)

    def _count(self, client: PravegaClient, record: CommitRecord, consumer: str, name: str) -> int:
        return sum(batch.num_rows for batch in self._batches_of(client, _range_of(client, record), consumer, name))

    def _batches_of(
        self, client: PravegaClient, wanted: StreamCutRange, consumer: str, name: str
    ) -> "Iterator[pa.RecordBatch]":
        import pyarrow.compute as pc

        mine = (pc.field(CONSUMER_COLUMN) == consumer) & (pc.field(INTERVAL_COLUMN) == name)
        for batch in self._batches(client, wanted):
            found = batch.filter(mine)
            if found.num_rows:
                yield found

    def _batches(self, client: PravegaClient, wanted: StreamCutRange) -> "Iterator[pa.RecordBatch]":
        """The errors of a range of the stream; other events are skipped."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from aiopravega.schema.arrow.arrays import values_of
        from aiopravega.schema.json.columns.decoder import JsonDecoder

        columns = _letter_columns()
        decoder = JsonDecoder(columns)
        named = pc.field(CONSUMER_COLUMN).is_valid() & pc.field(INTERVAL_COLUMN).is_valid()
        for events in _some(client.read(wanted, self.stream)):
            found = decoder.decode(values_of(events, pa.binary())).columns
            yield pa.RecordBatch.from_arrays(found, schema=columns).filter(named)


@contextmanager
def connected(client: PravegaClient | None) -> Iterator[PravegaClient]:
    """The client, or one that is opened by the settings of the environment, and closed."""
    if client is not None:
        yield client
        return
    with PravegaClient() as opened:
        yield opened


def is_whole(start: StreamCut, head: StreamCut) -> bool:
    """True if a stream that begins at `head` certainly has all after `start`; no request is made.

    A segment that is younger than all at the head was not truncated: otherwise the head would be in it, or after it.
    """
    begins, newest = head.positions, max(segment.epoch for segment in head.positions)
    return bool(start.positions) and all(
        begins[segment] <= offset if segment in begins else segment.epoch > newest
        for segment, offset in start.positions.items()
    )


def write_id_of(consumer: str, name: str) -> str:
    """The write id of the errors that have a name, which a landing of a consumer has."""
    return f"{name} of {consumer}"


def _names_of(write_id: str) -> tuple[str, str] | None:
    """Consumer and name of the errors that have a write id; None: it is not one of errors."""
    found = _WRITE_ID.fullmatch(write_id)
    return None if found is None else (found["consumer"], found["name"])


def _range_of(client: PravegaClient, record: CommitRecord) -> StreamCutRange:
    """The range that has the events of a write, and maybe others, without what retention has removed."""
    return _EVERYTHING if record.cuts is None else client.clip(record.cuts)


def _letter_columns() -> "pa.Schema":
    import pyarrow as pa

    from pravega_jobs.error_rows import TABLE_COLUMNS

    return pa.schema([*TABLE_COLUMNS, *(pa.field(name, pa.string()) for name in OWN_COLUMNS)])


def _letters(rows: "pa.Table", consumer: str, name: str, what: object) -> Iterator[EventBatch]:
    """The events of errors, with their routing keys where they are known.

    Raises:
        LandingError: one is too long.
    """
    import pyarrow as pa

    from aiopravega.schema.json.columns.encoder import JsonEncoder

    columns, names = _letter_columns(), (consumer, name)
    encoder = JsonEncoder(columns.names)
    for batch in rows.to_batches(_MOST_EVENTS):
        own = [pa.repeat(pa.scalar(each), batch.num_rows) for each in names]
        events: list[bytes] = encoder.columns([*batch.columns, *own], batch.num_rows).to_pylist()
        for event, pointer in zip(events, batch["pointer"].to_pylist(), strict=True):
            if len(event) > MAX_EVENT:
                raise LandingError(
                    f"{what}: the error at {pointer} has {len(event):,} bytes as an event of an errors stream, with "
                    f"the event in base64, and an event may have {MAX_EVENT:,}. Use an errors table. Nothing was "
                    "changed"
                )
        yield EventBatch(events, batch["routing_key"].to_pylist())


def _some(events: Iterable[Event]) -> Iterator[list[bytes]]:
    """Events, some at a time."""
    some: list[bytes] = []
    size = 0
    for event in events:
        some.append(event.data)
        size += len(event.data)
        if len(some) == _MOST_EVENTS or size >= _MOST_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
