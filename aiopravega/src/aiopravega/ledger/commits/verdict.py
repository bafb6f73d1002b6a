"""Verdicts on decided writes, by the states of their transactions. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto

from aiopravega.control import TransactionState
from aiopravega.ledger.commits.record import CommitRecord

_COMMITTED = frozenset({TransactionState.COMMITTING, TransactionState.COMMITTED})
_ABORTED = frozenset({TransactionState.ABORTING, TransactionState.ABORTED})
# How many partitions a message lists before it only counts.
_LISTED = 20
_NOTHING_WRITTEN = "Nothing was written, because writing it again would double what is there."
_DECIDE = (
    "inspect it with `pravega ledger verify`, and decide with `pravega ledger resolve`: accept what is there, or "
    "remove it downstream and forget the record, so that the write can run again."
)


class Verdict(Enum):
    """The outcome of a decided write, as far as its transactions show it."""

    WHOLE = auto()  # every transaction is committed, or can be
    LOST = auto()  # some are aborted and none is committed: none of its events is visible
    PARTIAL = auto()  # some are committed, and others never will be
    FORGOTTEN = auto()  # it is not known any more whether some were committed


def judge(states: Iterable[TransactionState]) -> Verdict:
    """Judge a write by the states of all its transactions; a write without transactions is whole.

    Pravega forgets ended transactions after a day or two (UNKNOWN). Such a transaction may have been committed, so it
    counts neither as lost nor as there.
    """
    found = set(states)
    if TransactionState.UNKNOWN in found:
        return Verdict.FORGOTTEN
    if not found & _ABORTED:
        return Verdict.WHOLE
    return Verdict.PARTIAL if found & _COMMITTED else Verdict.LOST


def opened(states: Mapping[int, TransactionState]) -> frozenset[int]:
    """The partitions whose transactions are open."""
    return frozenset(partition for partition, state in states.items() if state is TransactionState.OPEN)


def inside(states: Mapping[int, TransactionState]) -> frozenset[int]:
    """The partitions whose transactions are committed for certain."""
    return frozenset(partition for partition, state in states.items() if state in _COMMITTED)


def lost(states: Mapping[int, TransactionState]) -> frozenset[int]:
    """The partitions whose transactions will never be committed."""
    return frozenset(partition for partition, state in states.items() if state in _ABORTED)


def describe_forgotten(record: CommitRecord, states: Mapping[int, TransactionState]) -> str:
    """The message for a person who has to decide: what is in the stream, what is not, what is not known."""
    unknown = [partition for partition, state in states.items() if state is TransactionState.UNKNOWN]
    return (
        f"{_origin(record)} was not finished, and the controller no longer knows the transactions of the partitions "
        f"{listed(unknown)}; committed are {listed(inside(states))}; lost are {listed(lost(states))}. "
        f"{_NOTHING_WRITTEN} To continue, {_DECIDE}"
    )


def describe_difference(record: CommitRecord, wanted: frozenset[int], differences: Sequence[str]) -> str:
    """The message for a person who has to decide: the rows that could complete a write are not the same."""
    there = [part.partition for part in record.partitions if part.partition not in wanted]
    more = len(differences) - _LISTED
    shown = "; ".join(differences[:_LISTED]) + (f"; and {more} more" if more > 0 else "")
    return (
        f"{_origin(record)} is in the stream only in part: committed are the partitions {listed(there)}; lost are "
        f"{listed(wanted)}. This run cannot complete it: its rows differ from the first attempt's: {shown}. "
        f"{_NOTHING_WRITTEN} If the job can give the same rows in the same partitions and order, "
        f"run it so. Else: {_DECIDE}"
    )


def listed(partitions: Iterable[int]) -> str:
    """Numbers of partitions for a message: in order, and only counted beyond some."""
    ordered = sorted(partitions)
    if not ordered:
        return "none"
    more = len(ordered) - _LISTED
    return ", ".join(map(str, ordered[:_LISTED])) + (f" and {more} more" if more > 0 else "")


def _origin(record: CommitRecord) -> str:
    return f"{record.name} (attempt {record.attempt}, prepared at {record.prepared_at.isoformat(timespec='seconds')})"
