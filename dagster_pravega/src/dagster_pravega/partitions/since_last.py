"""Inputs without partitions that read the events since the last run: each run has its range in the cut ledger.

So an asset that Dagster materializes whenever its stream has new events reads each event once. A run that is retried or
executed again reads the same range; the next run also reads the range of a failed run. This module does not use Spark.
"""

from typing import Any

from dagster import InputContext

from aiopravega import StreamName
from aiopravega.blocking.intervals import take_next
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.intervals.chain.next_range import SINCE, ChainRules, NotNow
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.ledger import CutRecord, Interval
from dagster_pravega.metadata.spec import SINCE_KEY, plain
from dagster_pravega.metadata.steps import need_step
from dagster_pravega.partitions.claimants import claimant_of_step, judge_of
from dagster_pravega.partitions.consumers import consumer_of
from dagster_pravega.partitions.event_time_windows import on_truncated_of
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.debezium.transactions import watch_of
from pravega_jobs.identity.names import interval_of_run
from pravega_jobs.identity.sinks import FindTable, asking_sinks


def range_since_last(
    context: InputContext, stream: StreamName, pravega: PravegaResource, by: str, find_table: FindTable | None = None
) -> CutRecord | None:
    """The record of this run's range, which starts at the end of the last run's; None: the input has no `since`.

    Args:
        context: of the input.
        stream: the stream that it reads.
        pravega: the cluster.
        by: the author of a new record.
        find_table: the table of an identity, to ask whether the last run's rows are in it.

    Raises:
        ConfigurationError: the metadata `pravega/since` is neither `last` nor `latest`, the run has partitions, the
            value is loaded outside of a run, or an earlier release has begun the chain under another name.
        HalfDoneError: the last run has done a part of its work.
        LedgerError: another run reads its range now.
        PravegaError: a part of the range is gone, or the ledger or the stream cannot be asked.
    """
    given: Any = plain(context.definition_metadata.get(SINCE_KEY))
    if given is None:
        return None
    step = need_step(context, f"a range since the last run ({SINCE_KEY!r})")
    if given not in SINCE:
        raise ConfigurationError(f"the metadata {SINCE_KEY!r} is {given!r}, but must be one of {', '.join(SINCE)}")
    if step.has_partitions:
        raise ConfigurationError(
            f"the metadata {SINCE_KEY!r} is for assets without partitions: for ranges as partitions, give the asset "
            "StreamCutPartitions"
        )
    client, claimant, consumer = pravega.client, claimant_of_step(step), consumer_of(context)
    interval = Interval(consumer.name, stream, interval_of_run(claimant.run))
    client.head(stream)  # fails before a ledger is made for a missing stream
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    consumer.check_continued(client, interval, chained=True)
    rules = ChainRules(
        SINCE[given],
        OnOpen.TAKE_OVER,
        on_truncated=on_truncated_of(context),
        judge=judge_of(context.instance),
        ask_sink=asking_sinks(client.asynchronous, find_table),
    )
    watch = watch_of(MoveCondition(min_bytes=0))
    taken = take_next(client, ledger, interval, rules, watch, by=by, claimant=claimant)
    if isinstance(taken, NotNow):
        context.log.warning("%s", taken.reason)
        raise LedgerError(f"{interval} cannot start yet: {taken.reason}")
    return taken
