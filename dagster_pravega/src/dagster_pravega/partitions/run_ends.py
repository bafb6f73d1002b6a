"""Ends of runs, recorded in the cut ledger for their intervals: a killed run could not record its own end."""

from collections.abc import Mapping, Sequence
from typing import Final

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter

from aiopravega.ledger import CutLedger, CutRecord, IntervalState

_OVER: Final = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_PARTITION_TAG: Final = "dagster/partition"
_ROOT_TAG: Final = "dagster/root_run_id"


def ended_run_of_partition(instance: DagsterInstance, key: str, tags: Mapping[str, str]) -> DagsterRun | None:
    """The run of a partition with these tags, or its re-execution, by which it has ended; None: it has not."""
    return _end_of(instance.get_runs(RunsFilter(tags={_PARTITION_TAG: key, **tags})))


def ended_run(instance: DagsterInstance, run_id: str) -> DagsterRun | None:
    """The run, or the re-execution of it, by which its work has ended; None: it has not, or there is no such run."""
    run = instance.get_run_by_id(run_id)
    return _end_of([*instance.get_runs(RunsFilter(tags={_ROOT_TAG: run_id})), *([] if run is None else [run])])


async def record_end_of_run(ledger: CutLedger, record: CutRecord, run: DagsterRun) -> None:
    """Record an interval as done, or as failed, by the end of its run; nothing if the interval is done already."""
    by = f"dagster run {run.run_id}"
    if not record.is_waiting:
        return
    if run.status is DagsterRunStatus.SUCCESS:
        await ledger.finish(record.identity, record.range, by=by)
    elif record.state is IntervalState.OPEN:
        await ledger.fail(record.identity, f"{by}: {run.status.value.lower()}", by=by)


def _end_of(runs: Sequence[DagsterRun]) -> DagsterRun | None:
    """The run of several that repeat each other, the newest first, by which their work has ended.

    It is one that has succeeded; if none has, and none is at work or waits, it is the newest.
    """
    succeeded = [run for run in runs if run.status is DagsterRunStatus.SUCCESS]
    if succeeded:
        return succeeded[0]
    return runs[0] if runs and all(run.status in _OVER for run in runs) else None
