"""Landings of intervals: nothing is run if the table holds the interval, and the commit checks it again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.error_streams import connected
from pravega_jobs.landing.errors import ErrorsBeside, check_error_column, check_errors, errors_sink_of
from pravega_jobs.landing.growth import check_columns, fitted
from pravega_jobs.landing.partition_by import partitions_of
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import Evolution, Holding, Landed, Landing, choice, decide
from pravega_jobs.landing.spark_rows import SparkRows, is_spark
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import check_partitions, table_of
from pravega_jobs.spark.options import ERROR

if TYPE_CHECKING:
    from pravega_jobs.refusals import Checks


def land(
    frame: Any,
    table: LandingTable | str,
    cuts: StreamCutRange | Mapping[str, str],
    *,
    consumer: str | None = None,
    interval: str | None = None,
    generation: int = 1,
    event_times: bool = False,
    new_columns: Evolution | str = Evolution.FAIL,
    partition_by: Sequence[str] = (),
    errors: LandingTable | ErrorsSink | str | None = None,
    most_errors: int | str | None = None,
    event_pointer: str | None = None,
    checks: "Checks | None" = None,
    client: PravegaClient | None = None,
) -> Landed:
    """Put the rows of an interval into a table exactly once.

    The table gets the frame's columns, and `_consumer` and `_interval`. If it holds this range of the interval, nothing
    is run. A newer generation replaces the rows of the interval.

    Args:
        frame: the rows that come from the range, and from nothing else that can change: a DataFrame of Spark, or what
            this process writes itself, a table of Arrow, pandas or Polars, a LazyFrame, or record batches.
        table: the table, or its name as for `table_of`.
        cuts: the range; a mapping such as a sensor gives, with `start`, `end`, and maybe `consumer` and `interval`.
        consumer: the consumer of the stream; by default as in `cuts`.
        interval: the name of the interval; by default as in `cuts`.
        generation: from 1 on; a greater one replaces the rows of a smaller one.
        event_times: True for an interval of event times, whose range overlaps others; so is one with `since` and
            `until` in `cuts`.
        new_columns: the treatment of columns that the table lacks: `fail` refuses rows whose columns are not the
            columns of the table; `add` adds them, with null in older rows, and makes columns of Iceberg and PostgreSQL
            wider; `ignore` leaves them out. With `add` and `ignore`, columns that the rows lack are null.
        partition_by: the partitions that the table gets if it is new, of Delta or Iceberg: names of columns; in Iceberg
            also `year(column)`, `month(…)`, `day(…)`, `hour(…)`, `bucket(number, column)` and `truncate(number,
            column)`. A table that exists keeps its own, and must have these, if any are given.
        errors: an errors table, or an errors stream as `stream:scope/name`, which gets the rows with an error in the
            column `_error`, as reads with `on_error=dead` give it: by the same decision by which the table gets the
            others, without that column. A stream must exist; it is reached by the settings of the environment, or by
            the client of an `ErrorsStream`.
        most_errors: the most errors that the landing may have, such as `100` or `"1%"` of all rows; None: any number.
            More than a number, or than a part of a table in memory, end the landing at once. A part of record batches
            is judged after the last row, and rows of Spark are judged when all tasks are done.
        event_pointer: the column that has the pointer of the event that a row was made of, as reads with
            `metadata_columns="event_pointer"` give it. The table does not get it. If a row does not fit the table (null
            in a column that must not be, a number that a narrower column does not hold), or does not pass a check, its
            event becomes an error. None: such a row fails the landing. Not for DataFrames of Spark.
        checks: conditions of `pyarrow.compute` by names, such as `{"a price": field("price") > 0}`, which must be true
            for each row.
        client: fetches the events of these rows; None: one is opened by the settings of the environment.

    Returns:
        The action, and the table's holding of the interval now, with the number of its errors.

    Raises:
        ConfigurationError: something is not given, the text names no table, or the rows are of another type.
        LandingError: the table must not take the rows, or cannot; or there are too many errors.
        PravegaError: the errors stream does not exist, or cannot be reached.
    """
    limit = check_errors(errors, most_errors)
    if event_pointer is not None or checks:
        _check_refusals(frame, event_pointer, checks, errors)
    landing = landing_of(
        cuts,
        consumer,
        interval,
        generation,
        event_times=event_times,
        new_columns=new_columns,
        partition_by=partition_by,
    )
    target = table_of(table) if isinstance(table, str) else table
    check_partitions(target, partition_by)
    if not is_spark(frame):
        from pravega_jobs.tables import check_table  # needs PyArrow, which Spark's way imports later

        check_table(frame)
    if errors is None:
        with staged_rows(frame, target, landing) as show:
            return show()
    beside = ErrorsBeside(errors_sink_of(errors), target)
    with target.standing() as found:
        action, held = decide(found, landing)
    if held is not None:
        beside.check(held)
        return Landed(action, held)
    rows = _rows(frame)
    check_columns(rows.names)
    check_error_column(rows.types().get(ERROR), beside.sink)
    beside.sink.check(landing)
    from pravega_jobs.error_rows import Sieve  # needs PyArrow
    from pravega_jobs.tables import row_count

    sieve, columns = Sieve(), target.columns()
    limit.hold(sieve, landing, row_count(frame))
    with ExitStack() as opened:
        good = rows.sifted(sieve)
        if event_pointer is not None:
            from pravega_jobs.landing.local_rows import LocalRows
            from pravega_jobs.refusals import Refusals, of_stream

            assert isinstance(good, LocalRows)  # as `_check_refusals` has found
            events = of_stream(opened.enter_context(connected(client)))
            refusals = Refusals(events, sieve, event_pointer, checks or {})
            good = good.fitting(refusals, columns, landing, refuses_nul=target.refuses_nul)
        staged = opened.enter_context(target.staged(fitted(good, columns, landing), landing))
        found_errors = sieve.errors()
        limit.check(found_errors, staged.rows, landing)
        landed = target.commit(staged, replace(landing, errors=beside.put(found_errors, landing)))
    beside.take_out_others(landed.holding)
    return landed


@contextmanager
def staged_rows(frame: Any, target: LandingTable, landing: Landing) -> Iterator[Callable[[], Landed]]:
    """Write rows such that readers of a table do not see them, and give a function that shows them; no errors are kept.

    Raises:
        ConfigurationError: the rows have the column of errors, or are of another type.
        LandingError: the table must not take the rows, or cannot.
    """
    with target.standing() as found:
        action, held = decide(found, landing)
    if held is not None:
        done = Landed(action, held)
        yield lambda: done
        return
    rows = _rows(frame)
    check_columns(rows.names)
    check_error_column(rows.types().get(ERROR), None)
    with target.staged(fitted(rows, target.columns(), landing), landing) as staged:
        yield lambda: target.commit(staged, landing)


def _check_refusals(
    frame: Any, event_pointer: str | None, checks: "Checks | None", errors: LandingTable | ErrorsSink | str | None
) -> None:
    """Check that rows that are refused can become errors.

    Raises:
        ConfigurationError: they cannot.
    """
    if is_spark(frame):
        raise ConfigurationError(
            f"event_pointer={event_pointer!r} and checks are for rows that this process writes, and these are a "
            "DataFrame of Spark: filter or cast its rows in the job, or read the range by read_arrow and land that"
        )
    from pravega_jobs.refusals import check_refusals  # needs PyArrow

    check_refusals(event_pointer, checks, errors)


def _rows(value: Any) -> Rows:
    if is_spark(value):
        return SparkRows(value)
    from pravega_jobs.landing.local_rows import LocalRows

    return LocalRows(value)


def landing_of(
    cuts: StreamCutRange | Mapping[str, str],
    consumer: str | None = None,
    interval: str | None = None,
    generation: int = 1,
    *,
    event_times: bool = False,
    new_columns: Evolution | str = Evolution.FAIL,
    partition_by: Sequence[str] = (),
) -> Landing:
    """The landing of a range.

    Args:
        cuts: the range; a mapping such as a sensor gives, with `start`, `end`, and maybe `consumer` and `interval`.
        consumer: the consumer of the stream; by default as in `cuts`.
        interval: the name of the interval; by default as in `cuts`.
        generation: from 1 on.
        event_times: True for an interval of event times; so is one with `since` and `until` in `cuts`.
        new_columns: the treatment of columns that the table lacks: `fail`, `add` or `ignore`.
        partition_by: the partitions of the table.

    Raises:
        ConfigurationError: consumer, interval or stream are not known, `new_columns` is none of its choices, or
            `partition_by` has a text without the form of a partition.
    """
    if not isinstance(cuts, StreamCutRange):
        consumer, interval = consumer or cuts.get("consumer"), interval or cuts.get("interval")
        event_times = event_times or ("since" in cuts and "until" in cuts)
        cuts = StreamCutRange.from_json(cuts)
    if not consumer or not interval or cuts.stream is None:
        raise ConfigurationError(
            "a landing needs the names of a consumer and an interval, and a range between two cuts of a stream: give "
            f"them, or a range that has them (consumer {consumer!r}, interval {interval!r}, range {cuts})"
        )
    rule = choice(new_columns, Evolution, "new_columns")
    parts = partitions_of(partition_by)
    return Landing(Interval(consumer, cuts.stream, interval), cuts, generation, event_times, rule, parts)


def holdings(table: LandingTable | str) -> list[Holding]:
    """The holdings of a table: its intervals, with the cuts of their ranges, generations and rows.

    Raises:
        ConfigurationError: the text names no table.
        PravegaError: the table cannot be asked, or has a holding of another release.
    """
    return (table_of(table) if isinstance(table, str) else table).holdings()
