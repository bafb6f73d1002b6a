"""Ledgers on key-value tables: the transactions of writes (exactly once), and the ranges of intervals."""

from aiopravega.ledger.commits.contents import CommitState, PartitionCommit, TableSink, WriteErrors
from aiopravega.ledger.commits.fingerprint import Fingerprint
from aiopravega.ledger.commits.leases import Keepers, LeaseKeeper, LeaseNotes
from aiopravega.ledger.commits.ledger import DEFAULT_TABLE, CommitLedger, ledger_name
from aiopravega.ledger.commits.protocol import CommitProtocol
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.same_rows import check_same, check_same_errors, refuse_used
from aiopravega.ledger.commits.write_job import WriteJob
from aiopravega.ledger.intervals.claimant import Claimant, ClaimantState, Part, Sink
from aiopravega.ledger.intervals.cut_entries import StoredRange
from aiopravega.ledger.intervals.cut_ledger import CUT_TABLE, CutLedger
from aiopravega.ledger.intervals.cut_record import BEGINNING, CutRecord, Interval, IntervalState, SkippedPart

__all__ = [
    "BEGINNING",
    "CUT_TABLE",
    "DEFAULT_TABLE",
    "Claimant",
    "ClaimantState",
    "CommitLedger",
    "CommitProtocol",
    "CommitRecord",
    "CommitState",
    "CutLedger",
    "CutRecord",
    "Fingerprint",
    "Interval",
    "IntervalState",
    "Keepers",
    "LeaseKeeper",
    "LeaseNotes",
    "Part",
    "PartitionCommit",
    "Sink",
    "SkippedPart",
    "StoredCommit",
    "StoredRange",
    "TableSink",
    "WriteErrors",
    "WriteJob",
    "check_same",
    "check_same_errors",
    "ledger_name",
    "refuse_used",
]
