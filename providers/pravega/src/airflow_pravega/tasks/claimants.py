"""Claimants of intervals: Airflow is asked whether the run that has an interval can still process it.

Workers and triggers ask through the Task SDK, which knows the runs of this Airflow only. So a claim also names its
Airflow: otherwise a run of another one would look like a run that was deleted.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final
from uuid import uuid4

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import Context, Variable, XComArg
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.execution_time.comms import TriggerDagRun
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from asgiref.sync import sync_to_async

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.take_over import explain_wait
from aiopravega.ledger import Claimant, ClaimantState, CutLedger, CutRecord, IntervalState
from airflow_pravega.tasks.failures import ProcessesInterval
from airflow_pravega.tasks.identity import TEMPORARY_RUN, map_index
from pravega_jobs.frame_kinds import range_parameter
from pravega_jobs.identity.names import AIRFLOW

logger = logging.getLogger(__name__)

_INSTANCE: Final = "pravega_provider_instance"
_ABOUT: Final = "Made by the Pravega provider. It tells this Airflow from others that read the same streams."
_SETTLED_SECONDS: Final = 5.0
_ASK_SECONDS: Final = 60.0
_EXPLAIN_SECONDS: Final = 3600.0
_RETURNED: Final = "return_value"
_FAILED: Final = ("failed", "upstream_failed")
_WELL: Final = ("success", "skipped")
_ENDED: Final = ("success", "failed")


def this_instance() -> str:
    """The name of this Airflow: the name of the deployment, or a variable of Airflow's that the first task makes.

    It is empty if Airflow lets no variable be made: then nobody can ask for the state of a claimant.
    """
    deployment = conf.get("pravega", "deployment", fallback="") or ""
    return str(deployment) if deployment else _instance_variable()


@cache
def _instance_variable() -> str:
    instance = Variable.get(_INSTANCE, default=None)
    if instance is None:
        Variable.set(_INSTANCE, uuid4().hex, description=_ABOUT)
        # Airflow cannot make a variable only if it is missing. Of several tasks that make it at once, the last one
        # counts: a task that takes an earlier value would claim ranges as another Airflow.
        time.sleep(_SETTLED_SECONDS)
        instance = Variable.get(_INSTANCE)
    return str(instance)


def claimant_of(context: Context) -> Claimant:
    """The running task as the claimant of an interval."""
    ti = context["ti"]
    try:
        instance = this_instance()
    except Exception as error:  # noqa: BLE001 - whatever Airflow's server says, the range can be claimed
        logger.warning("This Airflow has no variable %s, by which others could know it: %s", _INSTANCE, error)
        instance = ""
    return Claimant(
        host=AIRFLOW, instance=instance, job=ti.dag_id, run=ti.run_id, task=ti.task_id, index=map_index(context)
    )


def is_of_another_airflow(claimant: Claimant | None, own: Claimant) -> bool:
    """True if an interval was claimed by a run that this Airflow does not know."""
    return claimant is not None and claimant.host == own.host and claimant.instance != own.instance


def check_not_shared(record: CutRecord, own: Claimant, context: Context) -> None:
    """Check that a mapped task has no range that another one of its instances has in the same run.

    The index may have changed since an earlier activation of the run, which was cleared.

    Raises:
        ConfigurationError: two instances are mapped over the same stream.
    """
    other, started = record.claimant, context["dag_run"].start_date
    if other is None or other.index == own.index or started is None or record.recorded_at < started:
        return
    if (other.job, other.run, other.task) == (own.job, own.run, own.task):
        raise ConfigurationError(
            f"the instances {other.index} and {own.index} of the mapped sensor {own.task} wait for the same stream, "
            f"{record.stream}: the stream names the range of a mapped sensor, so both would get one range. Leave one "
            "out, or give each a consumer= of its own"
        )


async def with_parts(ledger: CutLedger, record: CutRecord, claimant: Claimant, context: Context) -> CutRecord:
    """The record of an interval with its claimant and the tasks that have to finish it, if it is not done."""
    names = finishing_tasks(context["task"])
    if not record.is_waiting or (record.claimant == claimant and set(names) <= {part.name for part in record.parts}):
        return record
    return await ledger.expect(record.identity, names, claimant=claimant)


def finishing_tasks(task: Any) -> list[str]:
    """The tasks of the DAG that take the range of a task and finish its interval: it is done when all of them are.

    A task that processes the range that it takes is the only one: others get its result, which is not the range.
    """
    if isinstance(task, ProcessesInterval):
        return [task.task_id]
    return sorted(other.task_id for other in task.dag.tasks if other.task_id != task.task_id and _takes(other, task))


def _takes(task: Any, source: Any) -> bool:
    kind = getattr(task, "operator_class", type(task))  # of a mapped task
    if not (isinstance(kind, type) and issubclass(kind, ProcessesInterval)):
        return False
    references = (each for given in _given_ranges(task) for each in XComArg.iter_xcom_references(given))
    return any((operator.task_id, key) == (source.task_id, _RETURNED) for operator, key in references)


def _given_ranges(task: Any) -> Iterator[Any]:
    """The values of a task's argument for the range, as the DAG has them."""
    if not hasattr(task, "expand_input"):
        yield from task.given_ranges
        return
    function = getattr(task, "python_callable", None)
    name = "stream_cuts" if function is None else range_parameter(function)
    values = (task.expand_input if function is None else task.op_kwargs_expand_input).value
    for each in values if isinstance(values, Sequence) else [values]:
        if isinstance(each, Mapping):
            yield each.get(name)


class Judge:
    """Asks Airflow for the states of claimants, for one wait: once a minute at most.

    Args:
        task: the task that asks; None: a trigger asks, which does not know the DAG.
    """

    def __init__(self, task: Any = None) -> None:
        self._task = task
        self._asked: tuple[CutRecord, ClaimantState] | None = None
        self._asked_at = 0.0

    async def __call__(self, record: CutRecord) -> ClaimantState:
        """The state of the claimant of a record."""
        claimant = record.claimant
        if claimant is None or claimant.host != AIRFLOW:
            return ClaimantState.UNKNOWN
        if self._asked is not None and self._asked[0] == record and time.monotonic() < self._asked_at + _ASK_SECONDS:
            return self._asked[1]
        try:
            # Airflow 3.1 takes the answer to a question that is cut off for that of the next, and its triggerer ends.
            asking = sync_to_async(_state_of)(record, claimant, self._tasks_after(record, claimant))
            state = await asyncio.shield(asking)
        except Exception as error:  # noqa: BLE001 - whatever Airflow's server says, the wait continues
            logger.warning("Airflow cannot be asked for the state of %s: %s", claimant, error)
            state = ClaimantState.UNKNOWN
        self._asked, self._asked_at = (record, state), time.monotonic()
        return state

    def _tasks_after(self, record: CutRecord, claimant: Claimant) -> Collection[str]:
        """The tasks that can depend on the range of a claimant, as far as they are known here."""
        task, parts = self._task, frozenset(part.name for part in record.parts)
        if task is None or (task.dag_id, task.task_id) != (claimant.job, claimant.task):
            return parts
        return parts | frozenset(task.get_flat_relative_ids(upstream=False))


def _state_of(record: CutRecord, claimant: Claimant, after: Collection[str]) -> ClaimantState:
    if claimant.run.startswith(TEMPORARY_RUN):
        return ClaimantState.GONE
    if not claimant.instance or claimant.instance != this_instance():
        return ClaimantState.UNKNOWN
    if not RuntimeTaskInstance.get_dr_count(dag_id=claimant.job, run_ids=[claimant.run]):
        return ClaimantState.GONE
    state = RuntimeTaskInstance.get_dagrun_state(dag_id=claimant.job, run_id=claimant.run)
    if state not in _ENDED:
        return ClaimantState.RUNNING
    states = _states_after(claimant, after)
    is_processed = "success" in states and all(each in _WELL for each in states)
    if state == "failed":  # what failed may have nothing to do with the range
        return ClaimantState.DONE if is_processed else ClaimantState.FAILED
    # A run can succeed although its read has failed: if its last task runs in any case.
    has_failed = any(each in _FAILED for each in states)
    if has_failed or (record.state is IntervalState.FAILED and not is_processed):
        return ClaimantState.FAILED
    return ClaimantState.DONE


def _states_after(claimant: Claimant, after: Collection[str]) -> list[str]:
    """The states of the tasks after a claimant; a mapped one is named by the task and its index."""
    if not after:
        return []
    found = RuntimeTaskInstance.get_task_states(dag_id=claimant.job, run_ids=[claimant.run])
    names = found.get(claimant.run, {}).items()
    return [str(state) for name, state in names if name in after or name.rpartition("_")[0] in after]


def why_not_cleared(run: Claimant | None, own: Claimant, *, is_left: bool = False) -> str | None:
    """The reason why the run of an interval cannot be cleared now; None: it can.

    Args:
        run: the claimant of the interval.
        own: the task that asks.
        is_left: the interval was claimed again before, so that a run that has failed has failed since.
    """
    if run is None:
        return (
            "its record names no run, as those of older releases: claim the interval again by hand, and clear its run"
        )
    if run.host != AIRFLOW or is_of_another_airflow(run, own):
        return f"{run} has claimed it, which is not a run of this Airflow: have it run again where it ran"
    if not RuntimeTaskInstance.get_dr_count(dag_id=run.job, run_ids=[run.run]):
        return (
            f"the run {run.run} of {run.job} was deleted: claim the interval again by hand, and make a run of this date"
        )
    state = RuntimeTaskInstance.get_dagrun_state(dag_id=run.job, run_id=run.run)
    if state not in _ENDED:
        return f"the run {run.run} of {run.job} is {state}: look again when it has ended"
    if is_left and state == "failed":
        return f"the run {run.run} of {run.job} has failed since it was claimed again: clear it in Airflow"
    return None


def clear_run(run: Claimant) -> str | None:
    """Clear all tasks of a run, which is there; the reason if Airflow refuses."""
    from airflow.sdk.api.client import ServerResponseError  # of `dag.test()`
    from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS  # Airflow sets it when a task runs

    try:
        # The Task SDK clears a run that is there in answer to a request to make it.
        SUPERVISOR_COMMS.send(TriggerDagRun(dag_id=run.job, run_id=run.run, reset_dag_run=True))
    except (AirflowRuntimeError, ServerResponseError) as error:
        return f"Airflow refuses to clear {run.run} of {run.job}: {error}"
    return None


class WaitLog:
    """Explains a wait at WARNING: once at its beginning, and each hour.

    Args:
        log: the log of the task or of the trigger.
        said: the text and the time of the last explanation, by another process; see `said`.
    """

    def __init__(self, log: Any, said: dict[str, Any] | None = None) -> None:
        self._log = log
        self.said = said or {}

    def explain(self, record: CutRecord, state: ClaimantState) -> bool:
        """Explain the wait for a claimant if it is time; returns True if it was."""
        return self.explain_text(f"{record.identity}, {state.value}", explain_wait(record, state))

    def explain_text(self, about: str, text: str) -> bool:
        """Explain a wait if it is time; returns True if it was. `about` is the same as long as the wait is the same."""
        now = time.time()
        if self.said.get("about") == about and now < self.said["at"] + _EXPLAIN_SECONDS:
            return False
        self._log.warning("%s", text)
        self.said = {"about": about, "at": now}
        return True
