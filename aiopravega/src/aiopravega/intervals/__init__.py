"""Work with the intervals of a cut ledger: checks for gaps, pictures, and backfills."""

from aiopravega.intervals.chain.claims import claim_times, interval_name
from aiopravega.intervals.chain.losses import Left, OnTruncated, what_is_left
from aiopravega.intervals.chain.next_range import ChainRules
from aiopravega.intervals.chain.next_start import NextStart, OnOpen, next_start
from aiopravega.intervals.chain.skips import Skips, find_skips, skip
from aiopravega.intervals.chain.take import TakenRange, take, take_recorded
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.plans.backfill import BackfillPlan, PlannedInterval, run_backfill
from aiopravega.intervals.plans.planning import plan_parts, plan_times
from aiopravega.intervals.reports.verify import FindingKind, IntervalFinding, verify

__all__ = [
    "BackfillPlan",
    "ChainRules",
    "FindingKind",
    "IntervalFinding",
    "Left",
    "MoveCondition",
    "NextStart",
    "OnOpen",
    "OnTruncated",
    "PlannedInterval",
    "Skips",
    "TakenRange",
    "claim_times",
    "find_skips",
    "interval_name",
    "next_start",
    "plan_parts",
    "plan_times",
    "run_backfill",
    "skip",
    "take",
    "take_recorded",
    "verify",
    "what_is_left",
]
