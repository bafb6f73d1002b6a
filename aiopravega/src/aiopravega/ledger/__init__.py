"""Ledgers on key-value tables: which transactions make up which write (exactly once), which range which interval."""

from aiopravega.ledger.commit_ledger import DEFAULT_TABLE, CommitLedger, ledger_name
from aiopravega.ledger.cut_ledger import CUT_TABLE, CutLedger, StoredRange
from aiopravega.ledger.cut_record import CutRecord, Interval, IntervalState
from aiopravega.ledger.job import WriteJob
from aiopravega.ledger.keeper import Keepers, LeaseKeeper
from aiopravega.ledger.notes import LeaseNotes
from aiopravega.ledger.protocol import CommitProtocol
from aiopravega.ledger.record import CommitRecord, CommitState, PartitionCommit, StoredCommit

__all__ = [
    "CUT_TABLE",
    "DEFAULT_TABLE",
    "CommitLedger",
    "CommitProtocol",
    "CommitRecord",
    "CommitState",
    "CutLedger",
    "CutRecord",
    "Interval",
    "IntervalState",
    "Keepers",
    "LeaseKeeper",
    "LeaseNotes",
    "PartitionCommit",
    "StoredCommit",
    "StoredRange",
    "WriteJob",
    "ledger_name",
]
