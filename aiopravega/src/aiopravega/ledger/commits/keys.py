"""The names of writes in messages, and the keys of the entries in the table of a commit ledger. No I/O.

The keys of records are hashes; keys of other entries have the same length and prefixes: one hash in 2**64 has such a
prefix, or comes after these keys, so no record lies among them.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from aiopravega.names import StreamName

KEY_LENGTH = hashlib.sha256().digest_size
# Notes of open transactions (`aiopravega.ledger.commits.leases`), and of pending writes (`….pending`).
NOTE_PREFIX: Final = b"\xffleases\xff"
PENDING_PREFIX: Final = b"\xffpending\xff"
# The entry with the id of a ledger.
IDENTITY_KEY: Final = b"\xffidentity\xff".ljust(KEY_LENGTH, b"\0")
NOTES_FROM: Final = NOTE_PREFIX.ljust(KEY_LENGTH, b"\0")
PENDING_FROM: Final = PENDING_PREFIX.ljust(KEY_LENGTH, b"\0")
# A transaction lives for a day at most (`controller.transaction.execution.timeBound.days`); clocks may differ.
_LONGEST_LIFE: Final = 2 * 24 * 3600.0


def record_key(sink: StreamName, write_id: str) -> bytes:
    """The key of a write: of fixed length, whatever the names."""
    return hashlib.sha256(f"{sink}\0{write_id}".encode()).digest()


def is_record(key: bytes) -> bool:
    """True if a key of the ledger's table belongs to the record of a write."""
    return key != IDENTITY_KEY and not key.startswith((NOTE_PREFIX, PENDING_PREFIX))


def is_dead(noted_at: float, now: datetime) -> bool:
    """True if an entry that is not a record is so old that the transactions it names have ended."""
    return now.timestamp() - noted_at > _LONGEST_LIFE


def described(streams: Sequence[StreamName], write_id: str, generation: int) -> str:
    """A write, for messages."""
    of = f"generation {generation} of " if generation > 1 else ""
    return f"{of}write {write_id!r} to {' and '.join(map(str, streams))}"
