"""Ends of runs, recorded in the cut ledger for their intervals: a killed run could not record its own end."""

from collections.abc import Mapping, Sequence
from typing import Final

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter

from aiopravega.ledger import CutLedger, CutRecord, IntervalState

_OVER: Final = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_PARTITION_TAG: Final = "dagster/partition"
_ROOT_TAG: Final = "dagster/root_run_id"


def ended_run_of_partition(instance: DagsterInstance, key: str, tags: Mapping[str, str]) -> DagsterRun | None:
    """The latest run of a partition with these tags, or its re-execution, if it is over; None otherwise."""
    return _if_over(instance.get_runs(RunsFilter(tags={_PARTITION_TAG: key, **tags}), limit=1))


def ended_run(instance: DagsterInstance, run_id: str) -> DagsterRun | None:
    """The latest re-execution of a run, or the run itself, if it is over; None otherwise."""
    run = instance.get_run_by_id(run_id)
    again = instance.get_runs(RunsFilter(tags={_ROOT_TAG: run_id}), limit=1)
    return _if_over([*again, *([] if run is None else [run])])


async def record_end_of_run(ledger: CutLedger, record: CutRecord, run: DagsterRun) -> None:
    """Record an interval as done, or as failed, by the end of its run; nothing if the interval is done already."""
    by = f"dagster run {run.run_id}"
    if not record.is_waiting:
        return
    if run.status is DagsterRunStatus.SUCCESS:
        await ledger.finish(record.identity, record.range, by=by)
    elif record.state is IntervalState.OPEN:
        await ledger.fail(record.identity, f"{by}: {run.status.value.lower()}", by=by)


def _if_over(runs: Sequence[DagsterRun]) -> DagsterRun | None:
    return runs[0] if runs and runs[0].status in _OVER else None
