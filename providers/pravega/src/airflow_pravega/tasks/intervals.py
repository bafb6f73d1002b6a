"""Intervals of the cut ledger as plain JSON between tasks: from the task that takes one to the one that finishes it."""

import logging
from collections.abc import Mapping
from typing import Final, Literal

from airflow.providers.common.compat.sdk import BaseHook, conf
from airflow.sdk import Context

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.ledger import CutRecord, Interval, Sink
from airflow_pravega.connections.aws import TYPE as AWS_TYPE
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import POSTGRES, argument_of, table_in
from airflow_pravega.tasks.identity import map_index, records_nothing, write_name
from pravega_jobs.identity.sinks import AccessedTable, HoldsIntervals, declare_sink

logger = logging.getLogger(__name__)

# To be added to the line that says that a test records nothing.
TO_RECORD: Final = "To have tests recorded, set AIRFLOW__PRAVEGA__RECORD_TESTS=True"
_MOST_MAPPED: Final = 1024  # Airflow's default
# Before the id of a connection of Airflow, which stands for a database, a catalog or an object store; a table, or
# another connection of it, follows after `#`.
_CONNECTION: Final = "connection:"


def to_xcom(record: CutRecord) -> dict[str, str]:
    """A range with its consumer and interval; `since` and `until` are its event times, if it has any."""
    values = {**record.range.to_json(), "consumer": record.consumer, "interval": record.interval}
    if record.since is not None and record.until is not None:
        values |= {"since": record.since.isoformat(), "until": record.until.isoformat()}
    return values


def interval_in(cuts: Mapping[str, str], stream: StreamName) -> Interval:
    """The interval that a range names. A later claim, which late events have made, has a record of its own."""
    return claimed_again(Interval(cuts["consumer"], stream, cuts["interval"]), int(cuts.get("claim", 1)))


def range_of(given: object) -> StreamCutRange:
    """Read the range that a sensor, or another task, has given to an operator that does not know the times of events.

    Raises:
        ConfigurationError: the value is not a range, or the range is of event times: it has events of other times.
        InvalidStreamCutError: a text is not a cut.
    """
    cuts = range_with_names(given)
    if "since" in cuts or "until" in cuts:
        raise ConfigurationError(
            "stream_cuts is of event times, and its range also has events of other times: read it with "
            "PravegaSparkReadOperator, which knows the times of events"
        )
    return StreamCutRange.from_json(cuts)


def range_with_names(given: object) -> Mapping[str, str]:
    """The range that another task has given, with the names and times that it may have.

    Raises:
        ConfigurationError: the value is not a range.
    """
    if not isinstance(given, Mapping) or not {"start", "end"} <= given.keys():
        raise ConfigurationError(
            f"stream_cuts is {given!r}, but must be a range with the texts start and end, such as a sensor's output"
        )
    return given


def shown(cuts: StreamCutRange | None) -> str:
    """A range as text for a line of a log, which is short for many segments; its whole texts are in a debug line."""
    if cuts is None:
        return "between cuts that are not known"
    logger.debug("The cuts are %s", cuts.to_json())
    return str(cuts)


def finish(
    client: PravegaClient, stream: StreamName, cuts: Mapping[str, str], processed: StreamCutRange, context: Context
) -> None:
    """Record that the interval which a range names has been processed; do nothing if the range names none.

    Raises:
        LedgerError: the interval has another range by now.
    """
    interval = finished_by(context, stream, cuts)
    if interval is not None:
        by, part = write_name(context), context["ti"].task_id
        client.cut_ledger(stream.scope).finish(interval, processed, by=by, part=part)


def finished_by(context: Context, stream: StreamName, cuts: Mapping[str, str]) -> Interval | None:
    """The interval of a range, if this task finishes it or its part of it; a log line says why it does not."""
    if "consumer" not in cuts or "interval" not in cuts:
        return None
    interval = interval_in(cuts, stream)
    if records_nothing(context):
        logger.warning("%s stays as it is: a test of a task records nothing. %s", interval, TO_RECORD)
        return None
    if _is_read_by_several(context, cuts):
        logger.warning(
            "%s stays open, since several mapped tasks read it: have a PravegaFinishRangeOperator finish it", interval
        )
        return None
    return interval


def _is_read_by_several(context: Context, cuts: Mapping[str, str]) -> bool:
    """True for a mapped task whose instances all read the same range."""
    ti = context["ti"]
    mapped = ti.task.dag.task_dict.get(ti.task_id) if map_index(context) is not None else None
    fixed = getattr(mapped, "partial_kwargs", {})
    given = getattr(ti.task, "op_kwargs", {})  # of a function
    return "stream_cuts" in fixed or any(given.get(name) == cuts for name in fixed.get("op_kwargs", ()))


def declare(
    client: PravegaClient, stream: StreamName, cuts: Mapping[str, str], sink: Sink | None, context: Context
) -> None:
    """Record into what a task writes, before it begins; do nothing if the range names no interval.

    Raises:
        LedgerError: the interval is not to be processed any more: another run has taken its range over.
    """
    if sink is not None and {"consumer", "interval"} <= cuts.keys() and not records_nothing(context):
        interval = interval_in(cuts, stream)
        part, asynchronous = context["ti"].task_id, client.asynchronous
        client.run(declare_sink(asynchronous, asynchronous.cut_ledger(stream.scope), interval, part, sink))


def check_mappable(context: Context, parts: int, ways: str) -> None:
    """Check that tasks can be mapped over a list that a task is to return, before anything is recorded.

    Args:
        context: the task's context.
        parts: the length of the list.
        ways: how to make it shorter.

    Raises:
        ConfigurationError: a task is mapped over the list, and Airflow would refuse its length.
    """
    most = conf.getint("core", "max_map_length", fallback=_MOST_MAPPED)
    if parts > most and next(iter(context["ti"].task.iter_mapped_dependants()), None) is not None:
        raise ConfigurationError(
            f"{parts} intervals are to be processed by mapped tasks, but Airflow maps over {most} at most, so nothing "
            f"is recorded: {ways}, or raise AIRFLOW__CORE__MAX_MAP_LENGTH for the API server and the workers"
        )


def table_sink(
    kind: Literal["landing", "merge"],
    table: str,
    conn_id: str | None,
    cuts: Mapping[str, str],
    generation: int = 1,
    store: str | None = None,
) -> Sink:
    """The sink of a landing or a merge: the table with the ids of its connections, without a secret.

    Args:
        kind: of the job.
        table: as the operator names it.
        conn_id: of the database or the catalog.
        cuts: the range, with consumer and interval.
        generation: of the rows.
        store: the id of the connection to the object store.
    """
    target = "".join(f"{_CONNECTION}{each}#" for each in (store, conn_id) if each is not None) + table
    return Sink(kind=kind, target=target, id=f"{cuts['consumer']} {cuts['interval']}", generation=generation)


def find_table(target: str) -> HoldsIntervals:
    """The table of a sink, with the secrets of its connections.

    Raises:
        AirflowNotFoundException: the connection does not exist any more.
        ConfigurationError: this process cannot read such a table.
    """
    if not target.startswith(_CONNECTION):
        return table_in(target, None, POSTGRES)
    conn_id, _, table = target.removeprefix(_CONNECTION).partition("#")
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type == AWS_TYPE and (access := store_access(conn_id)) is not None:
        return AccessedTable(find_table(table), access)
    return table_in(table, connection, argument_of(connection))
