"""Work with the intervals of a cut ledger: whether they leave gaps, what they look like, and backfills of them."""

from aiopravega.intervals.backfill import BackfillPlan, PlannedInterval, run_backfill
from aiopravega.intervals.planning import plan_parts, plan_times
from aiopravega.intervals.times import claim_times, interval_name
from aiopravega.intervals.verify import Finding, FindingKind, verify

__all__ = [
    "BackfillPlan",
    "Finding",
    "FindingKind",
    "PlannedInterval",
    "claim_times",
    "interval_name",
    "plan_parts",
    "plan_times",
    "run_backfill",
    "verify",
]
