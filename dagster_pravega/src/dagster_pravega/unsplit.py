"""Reads without splitting segments, for a step whose earlier attempt has split a segment at a wrong offset.

The asset's own code reads the frame, too late to plan the read again. So the next attempt reads unsplit: a retry of the
step, or the step in a re-execution of the run.
"""

from collections.abc import Iterator, Mapping

from dagster import DagsterEventType, InputContext

from aiopravega.errors import SplitProofError
from aiopravega.jobs.spark_options import UNSPLIT
from dagster_pravega.handed_range import is_handed


def split_options(context: InputContext) -> Mapping[str, str]:
    """Options of the data source that split no segment, if an earlier attempt of this step failed because of a split.

    The asset's own code reads the frame, too late to plan the read again, so the next attempt reads unsplit. The reason
    of a failed attempt whose range another process has read is not known: the next attempt then also reads unsplit.
    """
    name = SplitProofError.__name__
    failures = list(_earlier_failures(context))
    if failures and is_handed(context):
        return UNSPLIT
    if not any(name in failure for failure in failures):
        return {}
    context.log.warning("An earlier attempt has split a segment where no event starts (%s): reading unsplit", name)
    return UNSPLIT


def _earlier_failures(context: InputContext) -> Iterator[str]:
    """The errors of earlier attempts of this step, in this run and in the run that it re-executes."""
    step = context.step_context
    for run_id in (step.run_id, step.dagster_run.parent_run_id):
        if run_id is None:
            continue
        kinds = {DagsterEventType.STEP_UP_FOR_RETRY, DagsterEventType.STEP_FAILURE}
        for record in step.instance.all_logs(run_id, of_type=kinds):
            event = record.dagster_event
            error = getattr(event.event_specific_data, "error", None) if event else None
            if error is not None and record.step_key == step.step.key:
                yield error.to_string()
