"""Writes into several sinks, decided together: streams, and tables that get their rows when the write is decided.

The rows of tables are staged first, so that a table that refuses them does so while nothing is decided. Then the record
decides, and the tables show their rows. A job that dies in between is run again: each table knows by its note of the
interval whether it has the rows. Only then the record says that all of the write is visible.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Unpack, cast

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.ledger import TableSink, ledger_name
from aiopravega.names import StreamName
from pravega_jobs.events.batches import EventBatch, write_to_streams
from pravega_jobs.frames.options import WriteOptions
from pravega_jobs.frames.write import events_of, parsed_options
from pravega_jobs.landing import LandingTable, table_of
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.land import landing_of, staged_rows
from pravega_jobs.landing.rules import Landed, Landing
from pravega_jobs.landing.write_errors import ErrorsOfWrite, errors_of_write
from pravega_jobs.merging.merge import staged_merge
from pravega_jobs.merging.merges import Merged
from pravega_jobs.merging.rules import MergeRules
from pravega_jobs.tables import batches_of, check_table
from pravega_jobs.writes import Written


@dataclass(frozen=True, slots=True)
class RowsByKey:
    """Rows for a table into which they are merged by key, instead of landed, as by `pravega_jobs.merging.merge_into`.

    Args:
        rows: a table, as `write_arrow` takes it.
        key: the columns that identify a row.
        rules: further arguments of `merge_into`: `order_by`, `delete_column`, `deletes`, `new_columns` and others.
    """

    rows: Any
    key: Sequence[str]
    rules: Mapping[str, Any] = field(default_factory=dict)


def write_streams(
    client: PravegaClient,
    rows: Mapping[str, Any] | Mapping[StreamName, Any] | Mapping[StreamName | LandingTable | str, Any],
    write_id: str,
    *,
    registry: SchemaRegistry | None = None,
    ledger: str | None = None,
    generation: int = 1,
    claimant: str | None = None,
    errors: ErrorsStream | str | None = None,
    most_errors: int | str | None = None,
    consumer: str | None = None,
    interval: str | None = None,
    event_pointer: str | None = None,
    cuts: StreamCutRange | Mapping[str, str] | None = None,
    **options: Unpack[WriteOptions],
) -> Written:
    """Write tables to several streams exactly once, decided together: all streams get their rows, or none does.

    The streams of a write stay the same under its id. A stream whose table has no rows is one of them. See
    `aiopravega.PravegaClient.visible_write` for readers that need all parts. `Written.record.of(stream)` is the record
    of one part, with its cuts.

    Sinks may also be tables: the rows are landed in them for the interval of `cuts`, or merged into them. They get them
    when the record has decided the write. If the job dies before that, a further call with the same write id puts them
    there; nobody else can, since only the job has the rows.

    Args:
        client: a connected client.
        rows: the table of each stream, as `write_arrow` takes it; the streams must exist. A text with a colon, such as
            `delta:/lake/delays`, and a `LandingTable` are tables, whose rows are landed; those in `RowsByKey` are
            merged. There must be a stream.
        write_id: the name of the write.
        registry: the Schema Registry, for `encode="auto"`, by the newest schema of each stream's group.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the scope that all streams are in.
        generation: the generation of the write; 2 writes other rows after 1, to all streams.
        claimant: the work that writes, for the record; see `pravega_jobs.writes.write_unless_done`.
        errors: an errors stream for the rows of all streams, as of `write_arrow`; each has the column `_error` then.
        most_errors: the most errors that each table may have, such as `100` or `"1%"` of its rows.
        consumer: the consumer whose events they are, for errors and tables; None: errors name the stream that is
            written to, and tables take it from `cuts`.
        interval: the interval of the events, for errors and tables; None: the write id, and as in `cuts`.
        event_pointer: the column of pointers, in each table, as of `write_arrow`.
        cuts: the range that the rows come from, for tables, as of `pravega_jobs.landing.land`.
        options: as of `write_arrow`.

    Raises:
        ConfigurationError: there are no streams, or streams of several scopes and no ledger; an option is not known, a
            column or a value cannot be a part of an event, or a table has no range.
        SinksError: under the write id, other streams or tables were written to.
        LandingError: a table must not take its rows, or cannot. A note of the error says if the record is decided.
        WriteIdReusedError: the write is done already, with other rows or errors.
        TooManyErrorsError: a table has more errors than `most_errors`; nothing is visible.
        PartialCommitError: an earlier attempt is in the streams in part, and these rows do not complete it.
        PravegaError: as of `write_arrow`.
    """
    parsed = parsed_options(options)
    tables = _tables(rows, cuts, consumer, interval, generation)
    named = named_streams({cast("StreamName", sink): given for sink, given in rows.items() if not _is_table(sink)})
    for table in named.values():
        check_table(table)
    beside = errors_beside(client, named, write_id, generation, errors, most_errors, consumer, interval)

    def batches() -> Iterator[tuple[StreamName, EventBatch]]:
        for stream, table in named.items():
            its: ErrorsOfWrite | None = beside.get(stream)
            for batch in events_of(client, batches_of(table), parsed, stream, registry, its, event_pointer, None):
                yield stream, batch

    with ExitStack() as staged:
        show = [staged.enter_context(table.staged()) for table in tables]
        notes = [table.note for table in tables]
        written = write_to_streams(
            client, [*named], write_id, batches(), ledger, generation, claimant, errors=beside, tables=notes
        )
        for each in show:
            try:
                each()
            except PravegaError as error:
                error.add_note(f"{written.record.name} is decided and in its streams: run it again when the table can")
                raise
    if not written.record.waiting_tables:
        return written
    commits = client.commit_ledger(*ledger_name(ledger, written.record.sink.scope))
    return replace(written, record=commits.landed(written.record))


def errors_beside(
    client: PravegaClient,
    streams: Iterable[StreamName],
    write_id: str,
    generation: int,
    errors: ErrorsStream | str | None,
    most_errors: int | str | None,
    consumer: str | None,
    interval: str | None,
) -> dict[StreamName, ErrorsOfWrite]:
    """The errors of each stream of a write; empty if they are not kept."""
    found = {
        stream: errors_of_write(client, stream, write_id, generation, errors, most_errors, consumer, interval)
        for stream in streams
    }
    return {stream: each for stream, each in found.items() if each is not None}


def named_streams(streams: Mapping[str, Any] | Mapping[StreamName, Any]) -> dict[StreamName, Any]:
    """The streams by their names, and the value of each.

    Raises:
        ConfigurationError: there is no stream, or one is named in two ways.
    """
    named = {StreamName.of(stream): given for stream, given in streams.items()}
    if len(named) != len(streams) or not named:
        raise ConfigurationError(f"no stream, or one of them twice: {', '.join(map(str, streams)) or 'none is given'}")
    return named


@dataclass(frozen=True, slots=True)
class _TableRows:
    """The rows of a table, which belong to the interval of a range."""

    table: LandingTable
    rows: Any
    landing: Landing

    @property
    def note(self) -> TableSink:
        """The note of the table in the record of the write."""
        one = self.landing
        return TableSink(
            target=self.table.location(),
            consumer=one.interval.consumer,
            interval=one.interval.name,
            generation=one.generation,
        )

    def staged(self) -> AbstractContextManager[Callable[[], Landed | Merged]]:
        """Stage the rows; the function that it gives shows them."""
        if not isinstance(self.rows, RowsByKey):
            return staged_rows(self.rows, self.table, self.landing)
        rules = MergeRules.of(self.rows.key, **self.rows.rules)
        return staged_merge(self.rows.rows, self.table, self.landing, rules)


def _is_table(sink: Any) -> bool:
    return not isinstance(sink, StreamName) and (not isinstance(sink, str) or ":" in sink)


def _tables(
    rows: Mapping[Any, Any],
    cuts: StreamCutRange | Mapping[str, str] | None,
    consumer: str | None,
    interval: str | None,
    generation: int,
) -> list[_TableRows]:
    """The tables among the sinks, in the order of their locations.

    Raises:
        ConfigurationError: a text names no table, there is no range, or rows are of another type.
    """
    given = {sink: table for sink, table in rows.items() if _is_table(sink)}
    if not given:
        return []
    if cuts is None:
        raise ConfigurationError(
            f"{next(iter(given))} is a table, whose rows belong to the interval of a range: give cuts, such as "
            "taken.range, with consumer and interval"
        )
    landing = landing_of(cuts, consumer, interval, generation)
    found = []
    for sink, of_table in given.items():
        table = table_of(sink) if isinstance(sink, str) else cast("LandingTable", sink)
        check_table(of_table.rows if isinstance(of_table, RowsByKey) else of_table)
        found.append(_TableRows(table, of_table, landing))
    locations = [each.table.location() for each in found]
    if len(set(locations)) != len(locations):
        raise ConfigurationError(f"one table twice among {', '.join(locations)}")
    return sorted(found, key=lambda each: each.table.location())
