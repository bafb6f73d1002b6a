"""The range of a task that is a function: its events, and the record of its interval at the end of the block."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from airflow.sdk import Context

from aiopravega import StreamCutRange, intervals
from aiopravega.blocking.intervals import TakenRange
from airflow_pravega.tasks.arguments import time_of
from airflow_pravega.tasks.failures import Cluster, failing_for_good, failures_recorded
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import finished_by, interval_in, range_with_names


@contextmanager
def task_range(
    hook: Cluster,
    cuts: object,
    context: Context,
    parts: Sequence[str] = (),
    watch: Callable[[Callable[[], None] | None], None] = lambda _: None,
) -> Iterator[TakenRange]:
    """Give a range to a block of a task; at its end the interval that the range names is done, or has failed.

    Args:
        hook: connects to the cluster.
        cuts: the range, as a sensor gives it.
        context: the task's context.
        parts: the ids of all tasks that process the range, if they are several.
        watch: see `failures_recorded`.

    Raises:
        AirflowFailException: the range cannot work, or is not this run's any more; or no retry can help the block.
        PravegaError: the cluster cannot be reached.
    """
    with failures_recorded(hook, None, cuts, context, watch), failing_for_good():
        named = range_with_names(cuts)
        given = StreamCutRange.from_json(named)
        own = None
        if given.stream is not None and {"consumer", "interval"} <= named.keys():
            own = interval_in(named, given.stream)
        with hook.get_client() as client:
            taken = intervals.TakenRange(
                client.asynchronous,
                given,
                own,
                records=own is not None and finished_by(context, own.stream, named) is not None,
                times=_times_of(named),
                parts=parts,
                part=context["ti"].task_id,
                by=write_name(context),
                is_final=_never,  # failures are recorded outside of the block, with a connection that works
            )
            with TakenRange(client.loop, taken) as entered:
                yield entered


def _times_of(cuts: Mapping[str, str]) -> tuple[datetime, datetime] | None:
    if not {"since", "until"} <= cuts.keys():
        return None
    return time_of("since", cuts["since"]), time_of("until", cuts["until"])


def _never(_: BaseException) -> bool:
    return False
