"""Claimants of intervals in Dagster, and their states: its instance is asked for the events of their steps and runs.

A claimant is a step of a run, or of the runs that repeat it. Its claim is done when the step has succeeded, whatever
the step has written. This module does not use an engine.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dagster import DagsterEventType, DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter

from aiopravega.intervals.chain.take_over import Judge
from aiopravega.ledger import Claimant, ClaimantState, CutRecord
from dagster_pravega.metadata.measures import CONSUMER_KEY, PARTITION_KEY
from dagster_pravega.metadata.spec import STREAM_KEY
from pravega_jobs.identity.names import DAGSTER, run_of_interval

if TYPE_CHECKING:
    from dagster._core.execution.context.system import StepExecutionContext

_OVER: Final = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_PARTITION_TAG: Final = "dagster/partition"
_ROOT_TAG: Final = "dagster/root_run_id"
# Dagster's own: a failed run is to be retried, and the run that does so, as soon as there is one.
_WILL_RETRY_TAG: Final = "dagster/will_retry"
_RETRIED_BY_TAG: Final = "dagster/auto_retry_run_id"
_OF: Final = " of "


def claimant_of_step(step: "StepExecutionContext", *, of_run: bool = False) -> Claimant:
    """The claimant of the intervals that a step reads: the same for its retries, and for runs that repeat its run.

    With `of_run` it is the run: several steps of it may read the range of its partition, each as a part of the claim.
    """
    run, task = step.dagster_run, "" if of_run else step.step.key
    return Claimant(host=DAGSTER, job=step.job_def.name, run=run.root_run_id or run.run_id, task=task)


def deployment_of(instance: DagsterInstance) -> str:
    """The id of this instance of Dagster, as text for authors: another instance may have a sensor of the same name.

    A temporary instance, as tests and notebooks have, has none: its runs end with its process.
    """
    # Imported here: with it come SQLAlchemy and Alembic, more than half of what an import of this package costs.
    from dagster._core.storage.runs import SqlRunStorage

    storage = instance.run_storage
    lasting = isinstance(storage, SqlRunStorage) and not instance.is_ephemeral
    return f"{_OF}{storage.get_run_storage_id()}" if lasting and isinstance(storage, SqlRunStorage) else ""


def judge_of(instance: DagsterInstance) -> Judge:
    """A function that asks an instance of Dagster for the state of the claimant of an interval."""

    async def judge(record: CutRecord) -> ClaimantState:
        return await asyncio.to_thread(state_of_claimant, instance, record)

    return judge


def state_of_claimant(instance: DagsterInstance, record: CutRecord) -> ClaimantState:
    """The state of the claimant of an interval.

    Records of earlier releases have no claimant: the interval's name is that of a run, or it is a partition, whose runs
    have the tags that the sensor gives them.
    """
    claimant = record.claimant
    if claimant is not None and claimant.host != DAGSTER:
        return ClaimantState.UNKNOWN
    root = run_of_interval(record.interval) if claimant is None else claimant.run
    runs = _runs_of_partition(instance, record)
    if root is not None:
        known = {run.run_id for run in runs}
        runs += [run for run in runs_of(instance, root) if run.run_id not in known]
    if not runs:
        is_other = _OF in record.recorded_by and not record.recorded_by.endswith(deployment_of(instance) or _OF)
        return ClaimantState.UNKNOWN if root is None or is_other else ClaimantState.GONE
    if _is_done(instance, record, runs):
        return ClaimantState.DONE
    if any(run.status not in _OVER or _is_to_be_retried(run) for run in runs):
        return ClaimantState.RUNNING
    return ClaimantState.FAILED


def runs_of(instance: DagsterInstance, root: str) -> list[DagsterRun]:
    """A run, and those that repeat it, the newest first."""
    run = instance.get_run_by_id(root)
    return [*instance.get_runs(RunsFilter(tags={_ROOT_TAG: root})), *([] if run is None else [run])]


def succeeded_steps(instance: DagsterInstance, run_ids: Sequence[str]) -> set[str]:
    """The steps that have succeeded in some runs."""
    kind = DagsterEventType.STEP_SUCCESS
    return {entry.step_key for run_id in run_ids for entry in instance.all_logs(run_id, of_type=kind) if entry.step_key}


def _runs_of_partition(instance: DagsterInstance, record: CutRecord) -> list[DagsterRun]:
    """The runs that a sensor has requested for an interval, with those that repeat them."""
    if run_of_interval(record.interval) is not None:
        return []
    tags = {STREAM_KEY: str(record.stream), CONSUMER_KEY: record.consumer}
    # Requests of earlier releases have the interval as the key of the partition only.
    for tag in (PARTITION_KEY, _PARTITION_TAG):
        runs = instance.get_runs(RunsFilter(tags={**tags, tag: record.interval}))
        if runs:
            return list(runs)
    return []


def _is_done(instance: DagsterInstance, record: CutRecord, runs: Sequence[DagsterRun]) -> bool:
    claimant = record.claimant
    if claimant is None:
        return any(run.status is DagsterRunStatus.SUCCESS for run in runs)
    steps = {claimant.task} if claimant.task else {part.name.rpartition(".")[0] for part in record.parts}
    return bool(steps) and steps <= succeeded_steps(instance, [run.run_id for run in runs])


def _is_to_be_retried(run: DagsterRun) -> bool:
    return run.status is DagsterRunStatus.FAILURE and (
        run.tags.get(_WILL_RETRY_TAG) == "true" and _RETRIED_BY_TAG not in run.tags
    )
