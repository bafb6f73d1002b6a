"""The kinds of entries in the table of a commit ledger, by their keys. No I/O.

Most are records of writes, whose keys are hashes. The other kinds have keys of the same length with prefixes: one hash
in 2**64 has such a prefix, or comes after these keys, so no record lies among them.
"""

from datetime import datetime
from typing import Final

from aiopravega.ledger.commits.record import KEY_LENGTH

# Notes of open transactions (`aiopravega.ledger.commits.leases`), and of pending writes (`….pending`).
NOTE_PREFIX: Final = b"\xffleases\xff"
PENDING_PREFIX: Final = b"\xffpending\xff"
# The entry with the id of a ledger.
IDENTITY_KEY: Final = b"\xffidentity\xff".ljust(KEY_LENGTH, b"\0")
NOTES_FROM: Final = NOTE_PREFIX.ljust(KEY_LENGTH, b"\0")
PENDING_FROM: Final = PENDING_PREFIX.ljust(KEY_LENGTH, b"\0")
# A transaction lives for a day at most (`controller.transaction.execution.timeBound.days`); clocks may differ.
_LONGEST_LIFE: Final = 2 * 24 * 3600.0


def is_record(key: bytes) -> bool:
    """True if a key of the ledger's table belongs to the record of a write."""
    return key != IDENTITY_KEY and not key.startswith((NOTE_PREFIX, PENDING_PREFIX))


def is_dead(noted_at: float, now: datetime) -> bool:
    """True if an entry that is not a record is so old that the transactions it names have ended."""
    return now.timestamp() - noted_at > _LONGEST_LIFE
