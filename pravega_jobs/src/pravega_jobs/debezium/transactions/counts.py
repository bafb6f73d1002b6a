"""Which transactions of a range are whole, and where a cut lies that goes through none of them.

A transaction is whole before a cut if all its changes of the tables in question are before it. Debezium may write
changes twice after a restart, so their numbers are counted, not the events. Cuts before which all transactions are
whole form a lattice: of two of them the later one in each segment is one again. So there is a last one up to any cut,
and it is found by taking out what is not whole, and what lies after that, until nothing changes. Nothing here asks a
server.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId, StreamName
from pravega_jobs.debezium.transactions.events import Change, End

# What is kept of a range in memory: transactions, and numbers of changes that came before an earlier one.
MOST_KEPT: Final = 1_000_000
Limits = Mapping[SegmentId, int]
# Gives the position in each segment of the last cut that is before all of some limits.
Lower = Callable[[Limits], Limits]


@dataclass(slots=True)
class _Numbers:
    """Numbers from 1 on, most of which come in their order."""

    run: int = 0
    others: set[int] = field(default_factory=set)

    def add(self, number: int) -> int:
        """Take a number; returns how many more are kept one by one, or less than 0."""
        before = len(self.others)
        if number > self.run:
            self.others.add(number)
            while self.run + 1 in self.others:
                self.run += 1
                self.others.discard(self.run)
        return len(self.others) - before

    def update(self, others: "_Numbers") -> int:
        """Take the numbers of others; see `add`."""
        return sum(self.add(number) for number in chain(range(1, others.run + 1), others.others))

    def __contains__(self, number: int) -> bool:
        return number <= self.run or number in self.others

    @property
    def count(self) -> int:
        return self.run + len(self.others)

    @property
    def largest(self) -> int:
        return max(self.others, default=self.run)


@dataclass(slots=True)
class _Seen:
    """What is known of a transaction: the numbers of its changes, where they are, and how many it has.

    `goes_on` says that further changes of it are after the range.
    """

    numbers: dict[str, _Numbers] = field(default_factory=dict)
    # Of each segment, the offset of the first event, and of the last one that is not a double.
    offsets: dict[SegmentId, tuple[int, int]] = field(default_factory=dict)
    counts: dict[str, int] | None = None
    goes_on: bool = False

    @property
    def missing(self) -> int | None:
        """How many changes are not there; None: nobody has said yet how many there are."""
        if self.counts is None:
            return None
        return sum(self.counts.values()) - sum(numbers.count for numbers in self.numbers.values())


class TransactionCounts:
    """Takes the events of a range, and says where it can end.

    Args:
        tables: for each table, by its name in Debezium, the stream that has its changes. None: all changes are of one
            table, whatever it is called.
        most_kept: how much is kept of a range.
    """

    def __init__(self, tables: Mapping[str, StreamName] | None = None, most_kept: int = MOST_KEPT) -> None:
        self._tables = tables
        self._names = {name: name for name in tables or ()}
        self._seen: dict[str, _Seen] = {}
        self._earlier: dict[str, dict[str, _Numbers]] = {}
        self._kept = 0
        self._most_kept = most_kept

    def change(self, change: Change, segment: SegmentId, offset: int) -> None:
        """Take a change of the range; those of a segment in their order.

        Raises:
            ConfigurationError: it is of a table that nobody named, or there are too many.
        """
        table = self._table_of(change, segment)
        seen = self._seen.get(change.transaction)
        if seen is None:
            seen = self._seen[change.transaction] = _Seen()
            self._keep(1)
        numbers = seen.numbers.setdefault(table, _Numbers())
        is_double = change.number in numbers
        self._keep(numbers.add(change.number))
        first, last = seen.offsets.get(segment, (offset, -1))
        seen.offsets[segment] = first, last if is_double else offset

    def end(self, end: End) -> None:
        """Take the end of a transaction; all changes of the range were taken before.

        Raises:
            MalformedEventError: the range has changes that the end does not have.
        """
        seen = self._seen.get(end.transaction)
        if seen is None:
            return
        counts = {self._names[name]: count for name, count in end.counts.items() if name in self._names}
        if seen.counts not in (None, counts):
            raise MalformedEventError(
                f"transaction {end.transaction} has two ends, with {seen.counts} and {counts} changes, and it is "
                "not known which one is right. Begin after it"
            )
        for table, numbers in seen.numbers.items():
            if numbers.largest > counts.get(table, 0):
                raise MalformedEventError(
                    f"transaction {end.transaction} ends with {counts.get(table, 0)} changes of {table}, but there is "
                    f"one with the number {numbers.largest}. Begin after it"
                )
        seen.counts = counts

    @property
    def maybe_doubles(self) -> frozenset[str]:
        """Transactions of which the range lacks the first changes: they may be from before it, and these doubles."""
        return frozenset(
            name for name, seen in self._seen.items() if seen.missing and not seen.goes_on and _has_last(seen)
        )

    def later(self, change: Change, segment: SegmentId) -> None:
        """Take a change from after the range that is of one of `maybe_doubles`: one that is new is not a double."""
        seen = self._seen[change.transaction]
        numbers = seen.numbers.get(self._table_of(change, segment))
        seen.goes_on |= numbers is None or change.number not in numbers

    def earlier(self, change: Change, segment: SegmentId) -> None:
        """Take a change from before the range that is of one of `maybe_doubles`."""
        numbers = self._earlier.setdefault(change.transaction, {})
        self._keep(numbers.setdefault(self._table_of(change, segment), _Numbers()).add(change.number))

    def settle_doubles(self) -> None:
        """Forget transactions that were whole before the range, and count the earlier changes of the others."""
        for name, tables in self._earlier.items():
            seen = self._seen[name]
            if sum(numbers.count for numbers in tables.values()) == sum((seen.counts or {}).values()):
                del self._seen[name]
            else:
                for table, numbers in tables.items():
                    self._keep(seen.numbers.setdefault(table, _Numbers()).update(numbers))
        self._earlier.clear()

    def not_whole(self) -> dict[str, int | None]:
        """The transactions that are not whole in the range: how many changes are missing, None if that is not known."""
        return {name: seen.missing for name, seen in self._seen.items() if seen.missing != 0}

    def limits(self, end: Limits, lower: Lower) -> Limits:
        """How far the last cut goes in each segment that goes through no transaction.

        Args:
            end: how far the range goes.
            lower: of limits, what a cut of the streams makes of them: of scaled segments, those that replaced one end
                where they begin, if that one ends before its end.
        """
        limits = dict(end)
        lasts: dict[SegmentId, list[tuple[int, str]]] = {}
        for name, seen in self._seen.items():
            for segment, (_, last) in seen.offsets.items():
                lasts.setdefault(segment, []).append((last, name))
        for entries in lasts.values():
            entries.sort()
        waiting = list(self.not_whole())
        out = set(waiting)
        while True:
            while waiting:
                for segment, (first, _) in self._seen[waiting.pop()].offsets.items():
                    limits[segment] = min(limits[segment], first)
                    entries = lasts[segment]
                    while entries and entries[-1][0] >= limits[segment]:
                        name = entries.pop()[1]
                        if name not in out:
                            out.add(name)
                            waiting.append(name)
            lowered = lower(limits)
            if lowered == limits:
                return limits
            for segment, limit in lowered.items():
                limits[segment] = limit
                waiting += [name for last, name in lasts.get(segment, ()) if last >= limit and name not in out]
            waiting = list(dict.fromkeys(waiting))
            out.update(waiting)

    def _table_of(self, change: Change, segment: SegmentId) -> str:
        if self._tables is None and not self._names:
            self._names = dict.fromkeys(change.tables, change.tables[0])
        for name in change.tables:
            if name in self._names and (self._tables is None or self._tables[name] == segment.stream):
                return self._names[name]
        known = ", ".join(self._names)
        raise ConfigurationError(
            f"{segment.stream} has changes of the table {change.tables[0]}, but {known} was expected: name all tables "
            "that are in a stream, with pravega_jobs.debezium.transactions.whole_transactions"
        )

    def _keep(self, more: int) -> None:
        self._kept += more
        if self._kept > self._most_kept:
            raise ConfigurationError(
                f"the range has too many transactions to keep in memory (more than {self._most_kept:,}, or changes of "
                "them in another order): take a shorter range, for example with max_bytes"
            )


def _has_last(seen: _Seen) -> bool:
    """Whether the last changes of each table are there that has any, without a gap."""
    for table, count in (seen.counts or {}).items():
        numbers = seen.numbers.get(table)
        if numbers is not None and numbers.count != count:
            first = min(numbers.others, default=0)
            if numbers.run or first + numbers.count - 1 != count:
                return False
    return True
