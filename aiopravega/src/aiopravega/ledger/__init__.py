"""Ledgers on key-value tables: which transactions make up which write (exactly once)."""

from aiopravega.ledger.commit_ledger import DEFAULT_TABLE, CommitLedger, StoredCommit
from aiopravega.ledger.protocol import CommitProtocol, WriteJob
from aiopravega.ledger.record import CommitRecord, CommitState, PartitionCommit

__all__ = [
    "DEFAULT_TABLE",
    "CommitLedger",
    "CommitProtocol",
    "CommitRecord",
    "CommitState",
    "PartitionCommit",
    "StoredCommit",
    "WriteJob",
]
