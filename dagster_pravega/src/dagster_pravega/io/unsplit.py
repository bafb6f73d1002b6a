"""Whether a try of a step has to read without splitting segments, because an earlier one split at a wrong offset.

A frame that an asset gets is read while the asset's own code runs, too late to plan the read again: so it is the next
try that reads unsplit, be it the step's or that of a run that is executed again.
"""

from collections.abc import Iterator, Mapping

from dagster import DagsterEventType, InputContext

from aiopravega.errors import SplitProofError
from dagster_pravega.io.remote_range import is_handed
from pravega_jobs.spark.options import UNSPLIT


def split_options(context: InputContext) -> Mapping[str, str]:
    """Options of the data source that split no segment, if an earlier try of this step failed because of a split.

    A try whose range another process has read does not say why it has failed: its next try splits no segment, either.
    """
    name = SplitProofError.__name__
    failures = list(_earlier_failures(context))
    if failures and is_handed(context):
        return UNSPLIT
    if not any(name in failure for failure in failures):
        return {}
    context.log.warning("An earlier try has split a segment where no event starts (%s): reading unsplit", name)
    return UNSPLIT


def _earlier_failures(context: InputContext) -> Iterator[str]:
    """How earlier tries of this step have failed, in this run and in the one that it executes again."""
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
