"""Errors of writes to streams: events that could not become rows go to an errors stream, by the decision of the write.

The order is that of landings: the errors first, once, under a name that is made of them; then the record of the write,
which names them. So errors of a run that was killed between both do not count. They stay in the errors stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import WriteErrors
from aiopravega.names import StreamName
from aiopravega.read.pointer import EventPointer
from pravega_jobs.error_rows import Sieve
from pravega_jobs.landing.error_streams import WORD, ErrorsStream
from pravega_jobs.landing.errors import (
    MostErrors,
    check_error_column,
    check_errors,
    check_write_errors,
    errors_name,
    rows_of_errors,
)
from pravega_jobs.landing.local_rows import types_of
from pravega_jobs.spark.options import ERROR

# Characters of the sample of a write's errors that its record has.
_SAMPLE: Final = 500


@dataclass(frozen=True, slots=True)
class ErrorsOfWrite:
    """The errors of one write.

    Args:
        sink: the errors stream, with a client.
        target: the stream of the rows.
        write_id: the name of the write.
        generation: its generation.
        consumer: the consumer whose events are written.
        interval: the interval of the events.
        limit: the most errors that the write may have.
        replays: the name of the errors that the write mends, if it is a replay.
        sieve: has the errors.
    """

    sink: ErrorsStream
    target: StreamName
    write_id: str
    generation: int
    consumer: str
    interval: str
    limit: MostErrors = field(default_factory=MostErrors)
    replays: str | None = None
    sieve: Sieve = field(default_factory=Sieve)

    def __str__(self) -> str:
        return f"generation {self.generation} of write {self.write_id!r} to {self.target}"

    def sifted(self, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The rows without an error, without that column; the errors are kept while they are read.

        Raises:
            ConfigurationError: there is no column of errors, or another one of its name.
        """
        check_error_column(types_of(rows.schema).get(ERROR), self.sink)
        return pa.RecordBatchReader.from_batches(Sieve.columns(rows.schema), self.sieve.sift(rows))

    def check(self) -> None:
        """Check that the errors stream exists, before any row is read.

        Raises:
            StreamNotFoundError: it does not.
        """
        self.sink.check_exists()

    def note(self) -> WriteErrors:
        """The note of the errors that were found, for the record of the write."""
        errors, location = self.sieve.errors(), self.sink.location()
        name = first = None
        if len(errors):
            first = f"{errors[0]['pointer']}: {errors[0]['reason']}"[:_SAMPLE]
            name = errors_name(errors, self.interval, self.generation, stream_text(self.target), self.write_id)
        return WriteErrors(
            sink=location,
            consumer=self.consumer,
            interval=self.interval,
            rows=len(errors),
            name=name,
            first=first,
            replays=self.replays,
        )

    def put(self, rows: int) -> WriteErrors:
        """Put the errors into their stream, once, before the write is decided.

        Args:
            rows: the number of the other rows.

        Raises:
            TooManyErrorsError: there are more than the write may have; nothing is put.
            ConfigurationError: the events are from the errors stream itself.
            LandingError: an error is too long for an event, or the stream has lost some that an earlier run has put.
        """
        errors, note = self.sieve.errors(), self.note()
        self.limit.check(errors, rows, self)
        if note.name is not None:
            streams = pa.array(list(self._streams(errors)), pa.string())
            table = rows_of_errors(errors, streams, self.interval, self.generation, stream_text(self.target))
            self.sink.put_under(table, self.consumer, note.name, self)
        return note

    def _streams(self, errors: pa.StructArray) -> Iterator[str | None]:
        for text in errors.field("pointer").to_pylist():
            stream = None if text is None else EventPointer.from_text(text).segment.stream
            if stream == self.sink.stream:
                raise ConfigurationError(
                    f"{self}: the event at {text} is in the errors stream itself, where its error would be read "
                    "again, as an event of the next range. Name another errors stream"
                )
            yield None if stream is None else str(stream)


def errors_of_write(
    client: PravegaClient,
    target: StreamName,
    write_id: str,
    generation: int,
    errors: ErrorsStream | str | None,
    most_errors: int | str | None,
    consumer: str | None,
    interval: str | None,
) -> ErrorsOfWrite | None:
    """The errors of a write, by the arguments of a job; None: they are not kept.

    Args:
        client: reaches an errors stream that has no client.
        target: the stream of the rows.
        write_id: the name of the write.
        generation: its generation.
        errors: the errors stream, or its text `stream:scope/name`.
        most_errors: the most errors, such as `100` or `"1%"` of all rows.
        consumer: the consumer whose events are written; None: the errors name the stream of the rows.
        interval: the interval; None: the write id.

    Raises:
        ConfigurationError: the errors have another sink than a stream, the stream is that of the rows, or the limit is
            none.
    """
    limit = check_errors(errors, most_errors)
    if errors is None:
        return None
    sink = check_write_errors(errors)
    if sink.stream == target:
        raise ConfigurationError(f"the errors of a write to {target} cannot go into the same stream: name another one")
    found = ErrorsOfWrite(
        sink.with_client(client), target, write_id, generation, consumer or str(target), interval or write_id, limit
    )
    limit.hold(found.sieve, found)
    return found


def stream_text(target: StreamName) -> str:
    """A stream of rows, as errors and commands name it."""
    return f"{WORD}{target}"
