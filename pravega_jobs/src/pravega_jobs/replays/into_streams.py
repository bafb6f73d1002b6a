"""Errors of writes to a stream decoded again: events that can be decoded now are added to the stream, each once.

The rows of a stream stay as they are. So the mended rows are a write of their own, whose record names the errors that
it has replayed, and those that are left. The next replay takes those, as the next generation of this write: of two
replays at once, the ledger takes one.
"""

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, LandingError, WriteIdReusedError, WriteSupersededError
from aiopravega.ledger import ledger_name
from pravega_jobs.events.batches import write_event_batches
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.landing import ErrorsStream, IntervalErrors, WrittenStream
from pravega_jobs.landing.write_errors import errors_of_write
from pravega_jobs.replays.mending import Mender, Replayed, Rule, reason_of
from pravega_jobs.spark.options import ERROR

_ROWS: Final = 10_000  # that become events at a time


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
        rule: makes rows of the stream from decoded events.
    """

    client: PravegaClient
    target: WrittenStream
    errors: IntervalErrors
    mender: Mender
    options: FrameOptions
    rule: Rule

    def run(self) -> Replayed:
        """Write the rows of the events that can be decoded now, and that the stream takes, if there are any.

        Raises:
            LandingError: another run has replayed the errors meanwhile.
        """
        mended = self.mender.mend(self.errors)
        if mended.is_empty:
            return self._result(0, mended.left(None), 0)
        rows, refusals = mended.changed(self.rule)
        if ERROR in rows.schema.names:
            raise ConfigurationError(f"the function gives rows with a column {ERROR!r}: leave it out")
        options, stream, registry = self.options, self.target.stream, self.mender.registry
        batches = list(event_batches(rows.to_reader(_ROWS), options, stream, registry, refusals))
        left = mended.left(refusals)
        if mended.mends_nothing(left):
            return self._result(0, left, 0)
        assert self.errors.write is not None
        assert isinstance(self.errors.sink, ErrorsStream)
        write_id, generation = self.errors.write.next_replay
        beside = errors_of_write(
            self.client,
            stream,
            write_id,
            generation,
            self.errors.sink,
            None,
            self.errors.consumer,
            self.errors.interval,
        )
        assert beside is not None
        beside.sieve.add(left)
        beside.check()
        beside = replace(beside, replays=self.errors.name)
        try:
            written = write_event_batches(
                self.client, stream, write_id, batches, self.target.ledger, generation, errors=beside
            )
        except (WriteIdReusedError, WriteSupersededError) as error:
            raise LandingError(
                f"another run has replayed the errors of interval {self.errors.interval!r} of "
                f"{self.errors.consumer!r} in {stream} meanwhile. Run it again: it takes what is left"
            ) from error
        return self._result(generation, left, written.record.total_events)

    def _result(self, generation: int, left: pa.StructArray, rows: int) -> Replayed:
        errors = self.errors
        return Replayed(errors.consumer, errors.interval, generation, errors.landed, len(left), rows, reason_of(left))
