"""Inputs without partitions that read the events since the last run: each run has its range in the cut ledger.

So an asset that Dagster materializes whenever its stream has new events reads each event once. A run that is retried or
executed again reads the same range; the next run also reads the range of a failed run. This module does not use Spark.
"""

from typing import Any, Final

from dagster import DagsterInstance, InputContext

from aiopravega import StreamName
from aiopravega.blocking import CutLedger, PravegaClient
from aiopravega.blocking.intervals import take_next
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.intervals.chain.next_range import SINCE, ChainRules, NotNow
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.ledger import CutRecord, Interval
from dagster_pravega.metadata.spec import SINCE_KEY, plain
from dagster_pravega.metadata.steps import need_step
from dagster_pravega.partitions.consumers import consumer_of
from dagster_pravega.partitions.event_time_windows import on_truncated_of
from dagster_pravega.partitions.run_ends import ended_run, record_end_of_run
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.debezium.transactions import watch_of

_RUN: Final = "run "


def range_since_last(context: InputContext, stream: StreamName, pravega: PravegaResource, by: str) -> CutRecord | None:
    """The record of this run's range, which starts at the end of the last run's; None: the input has no `since`.

    Raises:
        ConfigurationError: the metadata `pravega/since` is neither `last` nor `latest`, the run has partitions, the
            value is loaded outside of a run, or an earlier release has begun the chain under another name.
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
    run, client = step.dagster_run, pravega.client
    consumer = consumer_of(context)
    interval = Interval(consumer.name, stream, f"{_RUN}{run.root_run_id or run.run_id}")
    client.head(stream)  # fails before a ledger is made for a missing stream
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    consumer.check_continued(client, interval, chained=True)
    _record_end_of_last(client, ledger, interval, context.instance)
    rules = ChainRules(SINCE[given], OnOpen.TAKE_OVER, on_truncated=on_truncated_of(context))
    watch = watch_of(MoveCondition(min_bytes=0))
    taken = take_next(client, ledger, interval, rules, watch, by=by)
    if isinstance(taken, NotNow):
        raise LedgerError(f"{interval} cannot start yet: {taken.reason}")
    return taken


def _record_end_of_last(
    client: PravegaClient, ledger: CutLedger, interval: Interval, instance: DagsterInstance
) -> None:
    """Record the end of the last run, if the run did not record it."""
    last = ledger.last(interval)
    if last is not None and last.interval != interval.name and last.interval.startswith(_RUN):
        run = ended_run(instance, last.interval.removeprefix(_RUN))
        if run is not None:
            client.run(record_end_of_run(ledger.asynchronous, last.record, run))
