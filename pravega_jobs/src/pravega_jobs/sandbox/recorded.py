"""The records of an interval in the ledgers: its range, and the write that was made of it.

Only intervals that are done are replayed, and only as a whole: a part of a range gives other rows than the range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import what_is_left
from aiopravega.blocking.ledger import CutLedger
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, StreamMadeAgainError, StreamTruncatedError
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.intervals.chain.losses import check_not_skipped
from aiopravega.ledger import CUT_TABLE, CommitRecord, CutRecord, Interval, IntervalState, Sink
from aiopravega.names import StreamName

# In the text of a write id it stands for the name of the interval.
INTERVAL = "{interval}"


@dataclass(frozen=True, slots=True)
class RecordedRange:
    """The range of an interval that is done, as reads of frames take it; the record is that of its last claim."""

    client: PravegaClient
    interval: Interval
    record: CutRecord

    @property
    def stream(self) -> StreamName:
        """The stream."""
        return self.record.stream

    @property
    def range(self) -> StreamCutRange:
        """Both cuts."""
        return self.record.range

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """The event times that the range was taken for; it also has events of other times."""
        return self.record.times


def recorded_ranges(
    client: PravegaClient, stream: StreamName, consumer: str, intervals: Sequence[str], table: str = CUT_TABLE
) -> list[RecordedRange]:
    """The ranges of intervals that are done, if each can still be read as a whole; nothing is recorded.

    Raises:
        LedgerError: an interval has no range, or is not done.
        StreamTruncatedError: a part of a range is gone.
        StreamMadeAgainError: the stream was deleted and made again.
        TableNotFoundError: there is no ledger.
        PravegaError: the cluster cannot be asked.
    """
    ledger = client.cut_ledger(stream.scope, table)
    found = []
    for name in intervals:
        interval = Interval(consumer, stream, name)
        record = _last_claim(ledger, interval)
        if record is None:
            raise LedgerError(
                f"{interval} has no range: no run has taken one, or it has another name. `pravega cuts list {stream} "
                f"--consumer {consumer!r}` shows all"
            )
        _check_done(record)
        _check_whole(client, record)
        found.append(RecordedRange(client, interval, record))
    return found


def _last_claim(ledger: CutLedger, interval: Interval) -> CutRecord | None:
    """The record of the last claim of an interval, whose result has replaced the earlier ones; None: there is none."""
    last, number = ledger.find(interval), 2
    while last is not None and (later := ledger.find(claimed_again(interval, number))) is not None:
        last, number = later, number + 1
    return last


def _check_done(record: CutRecord) -> None:
    check_not_skipped(record)
    if record.state is not IntervalState.DONE:
        since = record.state_since.isoformat(timespec="seconds")
        why = "" if record.reason is None else f" ({record.reason})"
        raise LedgerError(
            f"{record.identity} is {record.state.value} since {since}{why}: only an interval that is done has a result "
            "to compare with. Have its run finish it, or replay another interval"
        )


def _check_whole(client: PravegaClient, record: CutRecord) -> None:
    left = what_is_left(client, record.range.start, record.range.end)
    if left.made_again is not None:
        raise StreamMadeAgainError(
            f"{left.made_again}; the range of {record.identity} belongs to the deleted one: it cannot be replayed. "
            "Replay an interval of the new stream",
            left.made_again,
        )
    if left.gone is not None:
        raise StreamTruncatedError(
            f"{left.text} of the range of {record.identity} are gone ({left.gone.reason}): the rest of it would give "
            "other rows than the whole. Replay a later interval, and have retention wait for those that you want to "
            "replay"
        )


# --- what was written ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenThen:
    """A write of an interval: its newest generation that is done, and the range that has its events only."""

    record: CommitRecord
    range: StreamCutRange

    @property
    def stream(self) -> StreamName:
        """The stream that has the events."""
        return self.record.sink


def write_of(of: RecordedRange, output: StreamName | None, write_id: str | None, ledger: str | None) -> WrittenThen:
    """The write that an interval was made into, by its write id, or by what the interval's record says.

    Args:
        of: the interval.
        output: the stream of the write; None: the one that the record names.
        write_id: `{interval}` stands for the interval in it; None: the record names it.
        ledger: `scope/table` of the commit ledger; None: what the record names, or the one in the stream's scope.

    Raises:
        ConfigurationError: neither `write_id` nor the record says which write it was.
        LedgerError: the commit ledger has no such write that is done.
        MixedRangeError: others wrote to the stream at the same time.
        StreamTruncatedError: a part of what was written is gone.
        PravegaError: the ledger or the stream cannot be asked.
    """
    sink = write_named(of, output, write_id, ledger)
    stream = StreamName.parse(sink.target)
    generations = of.client.written(stream, sink.id, ledger=sink.ledger)
    if not generations:
        raise LedgerError(
            f"{of.interval}: the commit ledger has no write {sink.id!r} to {stream} that is done. `pravega ledger list "
            f"{stream}` shows the writes that it has; name them by write_id, or their ledger by commit_ledger"
        )
    newest = generations[-1]
    return WrittenThen(newest, of.client.range_of_write(newest))


def write_named(of: RecordedRange, output: StreamName | None, write_id: str | None, ledger: str | None) -> Sink:
    """The stream, the name and the ledger of the write that an interval was made into; the arguments of `write_of`.

    Raises:
        ConfigurationError: neither `write_id` nor the record says which write it was.
    """
    if write_id is None:
        sink = _sink_of(of.record, output)
        return sink.model_copy(update={"ledger": ledger or sink.ledger})
    if output is None:
        raise ConfigurationError("write_id names a write, but nothing says into which stream: give compare_with")
    name = write_id.replace(INTERVAL, of.interval.name)
    return Sink(kind="write", target=str(output), id=name, ledger=ledger)


def _sink_of(record: CutRecord, output: StreamName | None) -> Sink:
    """The one write that a record names.

    Raises:
        ConfigurationError: it names none, or several.
    """
    sinks = [part.sink for part in record.parts if part.sink is not None]
    wanted = [sink for sink in sinks if sink.kind == "write" and output in (None, StreamName.parse(sink.target))]
    if len(wanted) == 1:
        return wanted[0]
    into = "" if output is None else f" into {output}"
    if wanted:
        raise ConfigurationError(
            f"{record.identity} was written{into} as {', '.join(map(str, wanted))}: say which of them by compare_with "
            "and write_id"
        )
    names = f", but {', '.join(map(str, sinks))}" if sinks else ""
    raise ConfigurationError(
        f"the record of {record.identity} names no write{into}{names}: give compare_with, and the name of the write "
        f"by write_id, where {INTERVAL} stands for the interval: 'totals/{INTERVAL}'"
    )
