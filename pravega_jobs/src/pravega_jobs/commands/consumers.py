"""Intervals of a consumer for `pravega sql --since last`: the next one, a new name for it, and the wait for events."""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import click

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import TakenRange, take
from aiopravega.commands.common import Options
from aiopravega.commands.grammar import DONE
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import Interval
from aiopravega.names import StreamName
from pravega_jobs.commands.ranges import Cluster
from pravega_jobs.identity.names import interval_of_moment


def taken_range(options: Options, cluster: Cluster, stream: StreamName) -> TakenRange:
    """The range of the consumer's interval, for a `with` that finishes it.

    Without a name it is the last interval if that is not done, and otherwise a new one: what a call has left that
    failed, or was killed, is read again under the same name, so that its write is recognised.

    Raises:
        NoRangeYetError: an earlier interval is not done.
        PravegaError: the ledger or the stream cannot be asked.
    """
    client, name = cluster.client, options.interval
    if name is None:
        now = interval_of_moment(datetime.now(UTC))
        try:
            last = client.cut_ledger(stream.scope).last(Interval(options.consumer, stream, now))
        except TableNotFoundError:
            last = None
        name = now
        if last is not None and last.record.is_waiting:
            name, record = last.interval, last.record
            since = f"{record.state_since:%Y-%m-%d %H:%M:%S}"
            said = f"interval {name!r} of {options.consumer!r} is {record.state.value} since {since}: it is read again"
            click.echo(said, err=True)
    return take(client, stream, consumer=options.consumer, interval=name)


def run_intervals(options: Options, cluster: Cluster, work: Callable[[], TakenRange | None]) -> int:
    """Run the work once, or with `--follow` again for what is written later, until the stream is sealed.

    Args:
        options: of the command.
        cluster: the connected client.
        work: processes one interval; returns its range, None: no consumer has it.
    """
    while True:
        began = time.monotonic()
        taken = work()
        sys.stdout.flush()
        if taken is None or not options.follow or not _has_more(cluster.client, taken):
            return DONE
        time.sleep(max(0.0, options.every.total_seconds() - (time.monotonic() - began)))


def _has_more(client: PravegaClient, taken: TakenRange) -> bool:
    """Wait for an event behind a range; False: the stream is sealed, and has none."""
    with client.follow(taken.stream, since=taken.end) as events:
        return next(iter(events), None) is not None
