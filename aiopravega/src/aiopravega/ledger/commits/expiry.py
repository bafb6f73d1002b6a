"""What may be forgotten, and what time it is for certain: a clock that is ahead must not remove what is still needed.

Machines that write have clocks, and so have the segment stores. A write that has rows brings a witness: a time that the
clock of a segment store has passed. What both the clock of this machine and a witness have passed has passed, unless
two clocks are wrong.
"""

from collections.abc import AsyncIterable
from datetime import UTC, datetime

from aiopravega.ledger.commits.commit_record import StoredCommit


def certain_time(witnessed_at: datetime) -> datetime:
    """The earlier one of this machine's time and a time that the servers have passed."""
    return min(datetime.now(UTC), witnessed_at)


async def expired(records: AsyncIterable[StoredCommit]) -> list[StoredCommit]:
    """Those of a ledger's records that may be forgotten. The latest witness among all of them says what time it is."""
    now, witnessed_at = datetime.now(UTC), None
    found = []
    async for stored in records:
        at, expires_at = stored.record.witnessed_at, stored.record.expires_at
        if at is not None and (witnessed_at is None or at > witnessed_at):
            witnessed_at = at
        if expires_at is not None and expires_at < now:
            found.append((expires_at, stored))
    if witnessed_at is None:
        return []
    certain = certain_time(witnessed_at)
    return [stored for expires_at, stored in found if expires_at < certain]
