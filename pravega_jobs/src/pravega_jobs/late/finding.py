"""The search for late events of a consumer: one bounded read of what no search has read, and its record."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Unpack

from aiopravega import PravegaClient, StreamCut, StreamCutRange, StreamName, blocking
from aiopravega.errors import (
    ConfigurationError,
    StreamMadeAgainError,
    StreamTruncatedError,
    TableConflictError,
    TableNotFoundError,
)
from aiopravega.intervals import OnTruncated, what_is_left
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.ledger import IntervalState
from aiopravega.ledger.stored_json import myself
from aiopravega.read import Order
from pravega_jobs.frames.options import ReadOptions
from pravega_jobs.late.found import LateEvents, LateInterval
from pravega_jobs.late.reading import check_options, count_late
from pravega_jobs.late.records import LateLedger, LateRecord, SearchState
from pravega_jobs.late.searches import ClaimedInterval, LateCount, Search, beginnings, cuts_of

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

logger = logging.getLogger(__name__)

# Searches that others of the same consumer may overtake.
_TRIES: Final = 5


def find_late_events(
    client: blocking.PravegaClient,
    stream: StreamName | str,
    consumer: str,
    *,
    registry: "SchemaRegistry | None" = None,
    max_bytes: int | None = None,
    on_truncated: OnTruncated = OnTruncated.FAIL,
    by: str | None = None,
    **options: Unpack[ReadOptions],
) -> LateEvents:
    """Find the late events of the intervals of event times that a consumer has claimed.

    The stream is read from the end of the last search to the tail; the first search begins at the ends of the ranges.
    How far it was searched, and what was found, is stored in the table `late-events` of the stream's scope. A search
    that is repeated, or was killed, counts no event twice and leaves out none. Late events of earlier searches are in
    the result until a later claim of their interval has them.

    Args:
        client: a connected client.
        stream: the stream.
        consumer: the consumer.
        registry: the Schema Registry, as of `read_arrow`.
        max_bytes: bytes to read at most, about; the next search continues.
        on_truncated: the choice if a part that was not searched is gone: end with an error, or search the rest.
        by: the author of the record of the search; None: the user and the host of this process.
        options: of the decoding, as of `read_arrow`; `event_time` names the column of the times.

    Raises:
        ConfigurationError: the options name no column of event times, or decode changes; or the ranges of the consumer
            are a chain, without event times.
        StreamTruncatedError: a part that was not searched is gone, and must not be skipped.
        StreamMadeAgainError: the ranges are of a stream of this name that was deleted.
        MalformedEventError: an event cannot be decoded, or has no time, and `on_error` is `fail`.
        TableConflictError: other searches of the same consumer were faster, again and again.
        PravegaError: the cluster cannot be asked.
    """
    check_options(options)
    finder = _Finder(
        client, StreamName.of(stream), consumer, registry, max_bytes, on_truncated, by or myself(), options
    )
    for _ in range(_TRIES - 1):
        try:
            return finder.find()
        except TableConflictError as error:
            logger.info("searching %s again for late events of %r: %s", stream, consumer, error)
    return finder.find()


async def claimed_intervals(client: PravegaClient, stream: StreamName, consumer: str) -> list[ClaimedInterval]:
    """The intervals of event times of a consumer with all their claims, in the order of their times.

    Intervals that somebody has skipped are left out.

    Raises:
        ConfigurationError: the consumer has ranges, but none has event times.
        PravegaError: the ledger cannot be read.
    """
    ledger = client.cut_ledger(stream.scope)
    try:
        records = await ledger.records(consumer, stream)
    except TableNotFoundError:
        return []
    if records and all(record.times is None for record in records):
        raise ConfigurationError(
            f"the ranges of {consumer!r} on {stream} are a chain, in which each event is in the next range: no event "
            "can be late. Late events are those of intervals of event times, such as PravegaEventTimeSensor and "
            "partitions of time claim them"
        )
    left_out = (IntervalState.SKIPPED, IntervalState.GIVEN_BACK)
    claims = {record.interval: [record] for record in records if record.times and record.state not in left_out}
    newest = [found[0] for found in claims.values()]
    number = 2
    while newest:
        first = [claims[record.interval][0].identity for record in newest]
        newest = await ledger.find_each([claimed_again(identity, number) for identity in first])
        for record in newest:
            claims[record.interval].append(record)
        number += 1
    return [ClaimedInterval(found, times) for found in claims.values() if (times := found[0].times)]


async def known_late_events(client: PravegaClient, stream: StreamName, consumer: str) -> LateEvents:
    """The late events that searches have found, and that no later claim of their interval has. No event is read.

    Raises:
        ConfigurationError: the ranges of the consumer are a chain, without event times.
        PravegaError: the ledgers cannot be read.
    """
    intervals = await claimed_intervals(client, stream, consumer)
    records = (await LateLedger(client, stream, consumer).read()).state.late if intervals else {}
    late = tuple(
        _found(interval, record, LateCount())
        for interval in intervals
        if (record := records.get(interval.name)) is not None and record.events and record.claim == interval.claim
    )
    return LateEvents(stream, consumer, None, late, len(intervals))


@dataclass(frozen=True, slots=True)
class _Finder:
    client: blocking.PravegaClient
    stream: StreamName
    consumer: str
    registry: "SchemaRegistry | None"
    max_bytes: int | None
    on_truncated: OnTruncated
    by: str
    options: Mapping[str, Any]

    def find(self) -> LateEvents:
        """Search once.

        Raises:
            TableConflictError: another search has stored something meanwhile.
        """
        run, client = self.client.run, self.client.asynchronous
        intervals = run(claimed_intervals(client, self.stream, self.consumer))
        if not intervals:
            return LateEvents(self.stream, self.consumer, None)
        ledger = LateLedger(client, self.stream, self.consumer)
        stored = run(ledger.read())
        search, read, tail, lost = run(self._begin(intervals, stored.state))
        counts: dict[int, LateCount] = {}
        if search.history.compare(read.start, read.end) is not Order.SAME:
            counts = count_late(self.client, self.stream, search, read, self.registry, self.options)
        now = datetime.now(UTC)
        totals = search.totals(counts, now)
        run(ledger.store(stored, search.changes(totals, self.by, now)))
        late = tuple(
            _found(interval, total, counts.get(number, LateCount()))
            for number, (interval, total) in enumerate(zip(intervals, totals, strict=True))
            if total.events
        )
        return LateEvents(self.stream, self.consumer, read, late, len(intervals), read.end == tail, lost)

    async def _begin(
        self, intervals: Sequence[ClaimedInterval], state: SearchState
    ) -> tuple[Search, StreamCutRange, StreamCut, str | None]:
        """The search, the range that it reads, the tail, and a sentence about a part that is gone."""
        client = self.client.asynchronous
        tail = await client.tail(self.stream)
        history = await client.arithmetic.history([*cuts_of(intervals, state), tail])
        begins = beginnings(intervals, state, history)
        left = await what_is_left(client, history.earliest([*begins, tail]), tail)
        if left.made_again is not None:
            raise StreamMadeAgainError(
                f"{left.made_again}; the ranges of {self.consumer!r} belong to the deleted one, so that it has no late "
                f"events any more. Forget them: pravega cuts forget {self.stream} --consumer {self.consumer!r}",
                left.made_again,
            )
        lost = None
        if left.gone is not None:
            lost = f"{left.text} of {self.stream} that no search has read are gone: {left.gone.reason}"
            if self.on_truncated is OnTruncated.FAIL:
                raise StreamTruncatedError(
                    f"{lost}. Late events of {self.consumer!r} among them are not known. To search the rest, say "
                    "on_truncated='skip'; to lose none, search more often than retention removes events"
                )
            logger.warning("%s; the rest is searched for late events of %r", lost, self.consumer)
        start, end = left.range.start, tail
        if self.max_bytes is not None and history.compare(start, tail) is not Order.SAME:
            end = await client.next_cut(start, self.max_bytes, tail)
        search = Search(self.consumer, intervals, begins, end, state, history)
        return search, StreamCutRange(start, end), tail, lost


def _found(interval: ClaimedInterval, total: LateRecord, count: LateCount) -> LateInterval:
    """The late events of an interval; a record that counts some has pointers and a moment."""
    assert total.first is not None
    assert total.last is not None
    assert total.found_at is not None
    return LateInterval(
        total.interval,
        total.since,
        total.until,
        total.claim,
        interval.is_settled,
        total.events,
        count.events,
        total.first,
        total.last,
        total.found_at,
    )
