"""What may be forgotten, and what time it is for certain: a clock that is ahead must not remove what is still needed.

Machines that write have clocks, and so have the segment stores. A write that has rows brings a witness: a time that the
clock of a segment store has passed. What both the clock of this machine and a witness have passed has passed, unless
two clocks are wrong.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from aiopravega.ledger.commits.commit_record import StoredCommit


def certain_time(witnessed_at: datetime) -> datetime:
    """The earlier one of this machine's time and a time that the servers have passed."""
    return min(datetime.now(UTC), witnessed_at)


def expired(records: Sequence[StoredCommit]) -> list[StoredCommit]:
    """Those of a ledger's records that may be forgotten. The latest witness among all of them says what time it is."""
    witnesses = [stored.record.witnessed_at for stored in records if stored.record.witnessed_at is not None]
    if not witnesses:
        return []
    now = certain_time(max(witnesses))
    return [stored for stored in records if stored.record.expires_at is not None and stored.record.expires_at < now]
