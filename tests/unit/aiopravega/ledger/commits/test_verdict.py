"""What the states of a write's transactions mean together."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from aiopravega.control import TransactionState
from aiopravega.ledger import CommitRecord, CommitState
from aiopravega.ledger.commits.verdict import Verdict, describe_difference, describe_forgotten, judge
from aiopravega.names import StreamName

OPEN, COMMITTING, COMMITTED = TransactionState.OPEN, TransactionState.COMMITTING, TransactionState.COMMITTED
ABORTING, ABORTED, UNKNOWN = TransactionState.ABORTING, TransactionState.ABORTED, TransactionState.UNKNOWN


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        ([], Verdict.WHOLE),
        ([OPEN, OPEN], Verdict.WHOLE),
        ([OPEN, COMMITTING, COMMITTED], Verdict.WHOLE),
        ([COMMITTED, COMMITTED], Verdict.WHOLE),
        ([ABORTED], Verdict.LOST),
        ([OPEN, ABORTING], Verdict.LOST),
        ([COMMITTED, ABORTED], Verdict.PARTIAL),
        ([COMMITTING, ABORTING], Verdict.PARTIAL),
        ([UNKNOWN], Verdict.FORGOTTEN),
        ([UNKNOWN, ABORTED, COMMITTED], Verdict.FORGOTTEN),
    ],
)
def test_a_write_is_judged_by_all_its_transactions(states: list[TransactionState], verdict: Verdict) -> None:
    assert judge(states) is verdict


RECORD = CommitRecord(
    state=CommitState.PREPARED,
    sink=StreamName("examples", "delays"),
    incarnation=0,
    write_id="daily",
    attempt=UUID(int=7),
    partitions=(),
    prepared_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
)


def test_a_forgotten_write_is_described_with_its_partitions_and_remedy() -> None:
    states = {0: COMMITTED, 1: ABORTED, 2: COMMITTING, 3: UNKNOWN} | dict.fromkeys(range(10, 40), ABORTED)

    text = describe_forgotten(RECORD, states)

    assert "write 'daily' to examples/delays" in text
    assert "2026-01-02T03:04:05+00:00" in text
    assert "no longer knows the transactions of the partitions 3" in text
    assert "committed are 0, 2" in text
    assert "lost are 1, 10, 11" in text
    assert "and 11 more" in text
    assert "pravega ledger resolve" in text


def test_only_the_first_differences_are_reported() -> None:
    text = describe_difference(RECORD, frozenset({1}), [f"difference {number}" for number in range(30)])

    assert "difference 19; and 10 more" in text
    assert "difference 20" not in text
