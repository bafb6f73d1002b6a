"""What the states of a decided write's transactions mean together. No I/O."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from aiopravega.control import TransactionState
from aiopravega.ledger.record import CommitRecord

_COMMITTED = frozenset({TransactionState.COMMITTING, TransactionState.COMMITTED})
_ABORTED = frozenset({TransactionState.ABORTING, TransactionState.ABORTED})
# How many partitions a message lists before it only counts.
_LISTED = 20


class Verdict(Enum):
    """Where a decided write stands."""

    WHOLE = auto()  # every transaction is committed, or can be
    LOST = auto()  # some are aborted and none is committed: nothing of it is visible
    PARTIAL = auto()  # some are committed, or nobody knows, and others never will be


def judge(states: Iterable[TransactionState]) -> Verdict:
    """Judge a write by the states of all its transactions; a write without transactions is whole.

    Pravega forgets ended transactions after a day or two (UNKNOWN). Such a one may have been committed, so it
    counts neither as lost nor as there.
    """
    found = set(states)
    if TransactionState.UNKNOWN in found:
        return Verdict.PARTIAL
    if not found & _ABORTED:
        return Verdict.WHOLE
    return Verdict.PARTIAL if found & _COMMITTED else Verdict.LOST


def describe_partial(record: CommitRecord, states: Mapping[int, TransactionState]) -> str:
    """The message for a person who has to decide: what is in the stream, what is not, what to do."""
    inside = [partition for partition, state in states.items() if state in _COMMITTED]
    lost = [partition for partition, state in states.items() if state in _ABORTED]
    unknown = [partition for partition, state in states.items() if state is TransactionState.UNKNOWN]
    parts = [f"committed are the partitions {_list(inside)}", f"lost are {_list(lost)}"]
    if unknown:
        parts.append(f"no longer known to the controller are {_list(unknown)}")
    return (
        f"{record.name} (attempt {record.attempt}, prepared at {record.prepared_at:%Y-%m-%d %H:%M:%S %Z}) is in the "
        f"stream only in part: {'; '.join(parts)}. Nothing more was written, because running it again would double "
        "what is there. Write the lost partitions under a write id of their own, or remove what is there "
        "downstream and run the job under a new write id."
    )


def _list(partitions: list[int]) -> str:
    if not partitions:
        return "none"
    ordered = sorted(partitions)
    more = len(ordered) - _LISTED
    return ", ".join(map(str, ordered[:_LISTED])) + (f" and {more} more" if more > 0 else "")
