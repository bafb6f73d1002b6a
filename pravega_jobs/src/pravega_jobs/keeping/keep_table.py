"""Tables that follow a stream: each range of a consumer is landed or merged, and the table is kept up when it needs it.

Schedulers claim a range by their own rules, and have `keep_range` put it into the table. `keep_table` also claims it,
for programs without a scheduler. Spark is not needed: the rows go through this process, a few megabytes at a time.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import take
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import PravegaError
from aiopravega.intervals import ChainRules, MoveCondition, OnOpen
from aiopravega.ledger import Interval, Sink
from aiopravega.names import StreamName
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.identity.sinks import asking_sinks, declare_sink
from pravega_jobs.keeping.rules import KeepRules
from pravega_jobs.landing import LandingTable, land, table_of
from pravega_jobs.landing.error_sinks import ErrorsSink, ErrorsTable
from pravega_jobs.landing.errors import errors_sink_of
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Action, Holding
from pravega_jobs.landing.targets import kind_of_table
from pravega_jobs.merging import Counts, merge_changes
from pravega_jobs.upkeep.keep_up import backlog_of, upkeep_of
from pravega_jobs.upkeep.rules import Upkept

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from pravega_jobs.frames.read import ReadableRange

logger = logging.getLogger(__name__)

UPKEEP_AFTER: Final = 100
_PART: Final = "keep_table"


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of one step of a table that follows a stream.

    `action` is `nothing` for a range without events (`bytes` is 0 then, and there is no holding), and for one that the
    table had already. `counts` are of a merge. `upkeep` is the report of an upkeep, if one was due, `errors_upkeep`
    that of the errors table, and `upkeep_error` the reason why one was not done.
    """

    interval: Interval
    cuts: StreamCutRange
    action: Action
    bytes: int
    holding: Holding | None = None
    counts: Counts | None = None
    upkeep: Upkept | None = None
    errors_upkeep: Upkept | None = None
    upkeep_error: str | None = None

    @property
    def rows(self) -> int:
        """The rows that the table has of the range; of a merge, the rows of the source that have changed."""
        return 0 if self.holding is None else self.holding.rows

    @property
    def errors(self) -> int | None:
        """The errors that the errors table has of the range; None: there is no errors table, or no event."""
        return None if self.holding is None or self.holding.errors is None else self.holding.errors.rows

    @property
    def is_empty(self) -> bool:
        """True if the range has no events."""
        return self.bytes == 0

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON."""
        return {
            "consumer": self.interval.consumer,
            "interval": self.interval.name,
            "cuts": self.cuts.to_json(),
            "action": self.action.value,
            "rows": self.rows,
            "errors": self.errors,
            "bytes": self.bytes,
            "changes": None if self.counts is None else asdict(self.counts),
            "upkeep": None if self.upkeep is None else self.upkeep.to_json(),
            "errors_upkeep": None if self.errors_upkeep is None else self.errors_upkeep.to_json(),
            "upkeep_error": self.upkeep_error,
        }

    def __str__(self) -> str:
        if self.is_empty:
            return f"{self.interval} has no events: the table is as it was"
        found = "" if self.errors is None else f" and {self.errors:,} errors"
        return f"{self.interval}: {self.action.value}, {self.rows:,} rows{found} of {self.bytes:,} bytes"


def keep_table(
    client: PravegaClient,
    stream: StreamName | str,
    table: LandingTable | str,
    rules: KeepRules | None = None,
    *,
    consumer: str,
    interval: str,
    max_bytes: int | None = None,
    registry: "SchemaRegistry | None" = None,
) -> Kept:
    """Take the next range of a consumer into a table: once, also if the program is killed anywhere and run again.

    The range ends at the tail of the stream. The table gets its events, the cut ledger records that the interval is
    done, and the table is kept up if it needs it.

    Args:
        client: a connected client.
        stream: the stream: a StreamName, or a text `scope/stream`.
        table: the table, or its name as for `table_of`.
        rules: by default, all events are landed, as they are or by the group of the stream in the registry.
        consumer: the name of the job. It owns its ranges in the cut ledger.
        interval: the name of this step, such as an hour. The same interval has the same range forever: a program that
            is run again after a failure gives the same name.
        max_bytes: the most bytes of the range, which then ends between events. The next interval gets the rest.
        registry: the Schema Registry, by which events become columns without options.

    Raises:
        NoRangeYetError: an earlier interval of the consumer is not done.
        ConfigurationError: the table or the rules cannot work.
        LandingError: the table must not take the rows, or cannot.
        StreamTruncatedError: events of the range are gone.
        PravegaError: a server cannot be reached.
    """
    target, rules = table_of(table) if isinstance(table, str) else table, rules or KeepRules.of()
    rules.check(target)
    asks = asking_sinks(client.asynchronous, lambda text: target if target.is_target(text) else None)
    taken = take(
        client,
        StreamName.of(stream),
        consumer=consumer,
        interval=interval,
        condition=MoveCondition(min_bytes=0, max_bytes=max_bytes),
        rules=ChainRules(on_open=OnOpen.TAKE_OVER, ask_sink=asks),
        parts=[_PART],
        part=_PART,
    )
    with taken:
        own = Interval(consumer, taken.stream, interval)
        ledger = client.asynchronous.cut_ledger(taken.stream.scope)
        sink = Sink(kind=rules.kind, target=target.location(), id=f"{consumer} {interval}")
        client.run(declare_sink(client.asynchronous, ledger, own, _PART, sink))
        kept = keep_range(taken, own, target, rules, registry=registry)
    return with_upkeep(kept, target, rules)


def keep_range(
    of: "ReadableRange",
    interval: Interval,
    table: LandingTable,
    rules: KeepRules,
    *,
    errors: LandingTable | ErrorsSink | None = None,
    registry: "SchemaRegistry | None" = None,
) -> Kept:
    """Read a range that an interval has, and put it into a table once.

    Args:
        of: the range, such as `take` gives it.
        interval: the interval that has the range.
        table: the table.
        rules: the rules.
        errors: the errors table or stream; None: the one that the rules name by themselves, if any. A stream is reached
            by the client of the range, if it has none.
        registry: the Schema Registry.

    Raises:
        ConfigurationError: an option cannot work.
        LandingError: the table must not take the rows, or cannot.
        PravegaError: the range cannot be read, or a server cannot be reached.
    """
    size = sum(part.size for part in of.client.plan(of.range, of.stream))

    def read() -> Any:
        need_arrow()
        from pravega_jobs.frames.read import plan_read

        return plan_read(of, None, registry, rules.options).scan.batches()

    given = errors or rules.errors
    beside = None if given is None else errors_sink_of(given).with_client(of.client)
    return put_rows(read, size, interval, of.range, table, rules, beside, of.client)


def put_rows(
    read: Callable[[], Any],
    size: int,
    interval: Interval,
    cuts: StreamCutRange,
    table: LandingTable,
    rules: KeepRules,
    errors: LandingTable | ErrorsSink | None = None,
    client: PravegaClient | None = None,
) -> Kept:
    """Put the rows of a range that an interval has into a table once.

    Args:
        read: gives the rows, as `land` takes them; it is not called if the range has no events.
        size: bytes of the range.
        interval: the interval that has the range.
        cuts: the range.
        table: the table.
        rules: the rules.
        errors: as of `keep_range`.
        client: fetches the events of rows that do not fit the table; None: one is opened by the environment.

    Raises:
        LandingError: the table must not take the rows, or cannot.
        PravegaError: the range cannot be read, or a server cannot be reached.
    """
    if size == 0:
        return Kept(interval, cuts, Action.NOTHING, 0)
    if rules.merge is not None:
        landing = landing_of(cuts, interval.consumer, interval.name, partition_by=rules.partition_by)
        merged = merge_changes(read(), table, landing, rules.merge)
        return Kept(interval, cuts, merged.action, size, merged.holding, merged.counts)
    landed = land(
        read(),
        table,
        cuts,
        consumer=interval.consumer,
        interval=interval.name,
        new_columns=rules.new_columns,
        partition_by=rules.partition_by,
        errors=errors or rules.errors,
        most_errors=rules.most_errors,
        event_pointer=rules.event_pointer,
        client=client,
    )
    return Kept(interval, cuts, landed.action, size, landed.holding)


def with_upkeep(
    kept: Kept, table: LandingTable, rules: KeepRules, errors: LandingTable | ErrorsSink | None = None
) -> Kept:
    """Keep a table up if its own metadata says that it is time, after a range was put into it and recorded as done.

    If the range has errors and they are in a table, it is kept up in the same way. An upkeep that cannot be done does
    not fail the range: the reason is logged, and in the result.

    Args:
        kept: the result so far.
        table: the table.
        rules: the rules.
        errors: as of `keep_range`.
    """
    if kept.is_empty:
        return kept
    done, reason = _kept_up(table, rules)
    given = (errors or rules.errors) if kept.errors else None
    beside = None if given is None else errors_sink_of(given)
    if not isinstance(beside, ErrorsTable):
        return replace(kept, upkeep=done, upkeep_error=reason)
    of_errors, other = _kept_up(beside.table, rules)
    reasons = "; ".join(each for each in (reason, other) if each is not None)
    return replace(kept, upkeep=done, errors_upkeep=of_errors, upkeep_error=reasons or None)


def _kept_up(table: LandingTable, rules: KeepRules) -> tuple[Upkept | None, str | None]:
    """The report of an upkeep, or the reason why it was not done; neither, if none is due."""
    kind, after = kind_of_table(table), UPKEEP_AFTER if rules.upkeep_after is None else rules.upkeep_after
    if after == 0 or kind is None or kind.upkeep is None:
        return None, None
    try:
        backlog = backlog_of(table)(rules.upkeep)
        if not backlog.is_due(after):
            return None, None
        logger.info("%s is kept up: %d small files, version %d", table.location(), backlog.small_files, backlog.version)
        return upkeep_of(table)(rules.upkeep), None
    except PravegaError as error:
        logger.warning("%s was not kept up: %s", table.location(), error)
        return None, str(error)
