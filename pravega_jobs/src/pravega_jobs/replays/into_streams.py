"""Errors of writes to a stream decoded again: events that can be decoded now are added to the stream, each once.

The rows of a stream stay as they are. So the mended rows are a write of their own, whose record names the errors that
it has replayed, and those that are left. The next replay takes those, as the next generation of this write: of two
replays at once, the ledger takes one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, LandingError, WriteIdReusedError, WriteSupersededError
from aiopravega.ledger import ledger_name
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.frames.write import write_rows
from pravega_jobs.landing import ErrorsStream, IntervalErrors, WrittenStream
from pravega_jobs.landing.write_errors import errors_of_write
from pravega_jobs.replays.mending import Change, Mended, Mender, Replayed
from pravega_jobs.spark.options import ERROR


def finish_writes(client: PravegaClient, target: WrittenStream) -> None:
    """Finish what drivers have decided and left, replays among them."""
    commits = client.asynchronous.commit_ledger(*ledger_name(target.ledger, target.stream.scope))
    client.run(commits.protocol().finish_unfinished(target.stream))


@dataclass(frozen=True, slots=True)
class StreamReplay:
    """The replay of the errors of one write.

    Args:
        client: a connected client.
        target: the stream of the rows.
        errors: the errors, which count.
        mender: decodes them.
        options: of the encoding of rows as events.
        change: makes rows of the stream from decoded events.
    """

    client: PravegaClient
    target: WrittenStream
    errors: IntervalErrors
    mender: Mender
    options: FrameOptions
    change: Change | None

    def run(self) -> Replayed:
        """Write the rows of the events that can be decoded now, if there are any.

        Raises:
            LandingError: another run has replayed the errors meanwhile.
        """
        mended = self.mender.mend(self.errors)
        if mended.is_empty:
            return self._result(0, len(mended.left), 0, mended)
        rows = mended.changed(self.change)
        if ERROR in rows.schema.names:
            raise ConfigurationError(f"the function gives rows with a column {ERROR!r}: leave it out")
        assert self.errors.write is not None
        assert isinstance(self.errors.sink, ErrorsStream)
        write_id, generation = self.errors.write.next_replay
        beside = errors_of_write(
            self.client,
            self.target.stream,
            write_id,
            generation,
            self.errors.sink,
            None,
            self.errors.consumer,
            self.errors.interval,
        )
        assert beside is not None
        try:
            written = write_rows(
                self.client,
                pa.RecordBatchReader.from_batches(
                    rows.schema.append(pa.field(ERROR, ERROR_TYPE)), _with_errors(rows, mended.left)
                ),
                self.target.stream,
                write_id,
                self.options,
                registry=self.mender.registry,
                ledger=self.target.ledger,
                generation=generation,
                errors=replace(beside, replays=self.errors.name),
            )
        except (WriteIdReusedError, WriteSupersededError) as error:
            raise LandingError(
                f"another run has replayed the errors of interval {self.errors.interval!r} of "
                f"{self.errors.consumer!r} in {self.target.stream} meanwhile. Run it again: it takes what is left"
            ) from error
        return self._result(generation, len(mended.left), written.record.total_events, mended)

    def _result(self, generation: int, left: int, rows: int, mended: Mended) -> Replayed:
        return Replayed(
            self.errors.consumer, self.errors.interval, generation, self.errors.landed, left, rows, mended.reason
        )


def _with_errors(rows: pa.Table, left: pa.StructArray) -> Iterator[pa.RecordBatch]:
    """Rows, and after them a row of nulls for each error that is left."""
    for batch in rows.to_batches():
        yield batch.append_column(ERROR, pa.nulls(batch.num_rows, ERROR_TYPE))
    nulls = [pa.nulls(len(left), each.type) for each in rows.schema]
    columns = pa.schema([*(each.with_nullable(True) for each in rows.schema), pa.field(ERROR, ERROR_TYPE)])
    yield pa.RecordBatch.from_arrays([*nulls, left], schema=columns)
