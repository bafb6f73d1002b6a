"""The command `pravega sql`: queries over ranges of streams, writes of what they find, and streams as tables."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from aiopravega.commands.common import DURATION, YES, Option, Options, show, verb
from aiopravega.commands.grammar import NO, Argument, interrupted_at_once
from aiopravega.errors import ConfigurationError
from pravega_jobs.commands.ranges import RANGES, Cluster, check_named, connected, plan, range_by
from pravega_jobs.frame_kinds import need

if TYPE_CHECKING:
    from aiopravega.blocking.intervals import TakenRange
    from aiopravega.names import StreamName
    from pravega_jobs.commands.statements import Insert, Query
    from pravega_jobs.frames.read import PlannedRead

_FORMS: Final = ("table", "csv", "json", "parquet")


@verb(
    None,
    "sql",
    Argument("statement", "STATEMENT", "of SQL; 'scope/stream' is a table"),
    *RANGES[:2],
    Option(
        ["--since"],
        type=click.Choice(["last"]),
        help="last: what came after the last interval of --consumer; the first one starts at the head",
    ),
    Option(["--consumer"], metavar="NAME", help="with --since last: whose interval it is, as `pravega cuts` lists it"),
    Option(["--interval"], metavar="NAME", help="with --since last: the name of the interval (the time of now)"),
    Option(
        ["--follow"],
        is_flag=True,
        help="with --since last: continue with what is written later, until the stream is sealed",
    ),
    Option(["--every"], type=DURATION, default="10s", help="with --follow: at most one interval in this time (10s)"),
    Option(["--write-id"], metavar="ID", help="of INSERT INTO: the write is done once under it"),
    Option(
        ["--format", "form"], type=click.Choice(_FORMS), help="of the rows: table (the default), csv, json, parquet"
    ),
    Option(
        ["--output"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="a file for the rows, by default in the form of its ending; it appears as a whole or not at all",
    ),
    *RANGES[2:],
    YES,
    has_client=False,
)
async def command(options: Options) -> int:
    """Run one statement of SQL, by DuckDB in this process; a name in quotes, 'scope/stream', is a table.

    A query reads streams from their heads to their tails of now, or the range that an option names. INSERT INTO writes
    what a query finds, exactly once. What a stream cannot do is refused.
    """
    need("sql", "duckdb", "pyarrow")
    from pravega_jobs.commands.statements import Insert, Query, parse

    _check_consumer(options)
    statement = parse(options.statement)
    if isinstance(statement, Query | Insert):
        with interrupted_at_once():
            return _query(options, statement) if isinstance(statement, Query) else _insert(options, statement)
    from pravega_jobs.commands.tables import run_on_tables

    return await run_on_tables(options, statement)


def _check_consumer(options: Options) -> None:
    if options.since is None:
        if options.consumer is not None or options.interval is not None or options.follow:
            raise ConfigurationError("--consumer, --interval and --follow go with --since last")
        return
    if options.consumer is None:
        raise ConfigurationError("--since last goes with --consumer NAME: what is last is that of a consumer")
    if options.between or options.as_of is not None:
        raise ConfigurationError("give --since last, --between or --as-of, not several of them")
    if options.follow and (options.interval, options.output, options.write_id) != (None, None, None):
        raise ConfigurationError("--follow has many intervals: leave --interval, --output and --write-id out")


def _query(options: Options, query: "Query") -> int:
    """Print the rows of a query, or write them to a file."""
    from pravega_jobs.commands.consumers import run_intervals
    from pravega_jobs.commands.forms import form_of, may_write

    file: Path | None = options.output
    if options.write_id is not None:
        raise ConfigurationError("--write-id goes with INSERT INTO")
    if options.json and options.form not in (None, "json"):
        raise ConfigurationError(f"--json says --format json, but --format is {options.form}")
    form = options.form or ("json" if options.json else "table" if file is None else form_of(file))
    if (form == "parquet" and file is None) or (form == "table" and file is not None):
        raise ConfigurationError(f"--format {form} {'goes with --output FILE' if file is None else 'has no file'}")
    if form == "csv" and options.follow:
        raise ConfigurationError("--format csv has one header: --follow prints tables or json")
    if file is not None and not may_write(options, file):
        return NO
    with connected(options) as cluster:
        return run_intervals(options, cluster, lambda: _print(options, cluster, query, form))


def _print(options: Options, cluster: Cluster, query: "Query", form: str) -> "TakenRange | None":
    from pravega_jobs.commands.forms import print_rows, whole_file, write_rows
    from pravega_jobs.commands.progress import progress, until_rows
    from pravega_jobs.commands.queries import rows_of

    with ExitStack() as stack:
        ranges, taken = _ranges(options, cluster, query, stack)
        bars = stack.enter_context(progress())
        rows = stack.enter_context(rows_of(query.text, ranges, bars))
        if options.output is None:
            print_rows(form, until_rows(rows, bars))
        else:
            write_rows(form, stack.enter_context(whole_file(options.output)), rows)
    return taken


def _insert(options: Options, statement: "Insert") -> int:
    """Write the rows of a query to a stream."""
    from pravega_jobs.commands.consumers import run_intervals

    if options.form is not None or options.output is not None:
        raise ConfigurationError("--format and --output are for rows: INSERT INTO has none")
    with connected(options) as cluster:
        return run_intervals(options, cluster, lambda: _write(options, cluster, statement))


def _write(options: Options, cluster: Cluster, statement: "Insert") -> "TakenRange | None":
    from pravega_jobs.commands.inserts import insert, write_id_of
    from pravega_jobs.commands.progress import progress
    from pravega_jobs.commands.queries import rows_of

    with ExitStack() as stack:
        ranges, taken = _ranges(options, cluster, statement.query, stack, cluster.name(statement.stream))
        write_id = write_id_of(options, taken)
        bars = stack.enter_context(progress())
        rows = stack.enter_context(rows_of(statement.query.text, ranges, bars, threads=1))
        written = insert(options, cluster, statement, rows, write_id)
    count = written.record.total_events
    values = {"stream": statement.stream, "write_id": write_id, "events": count, "written": written.by_this_try}
    said = "are written to" if written.by_this_try else "were written already to"
    show(options, values, f"{count:,} events {said} {statement.stream}, as write {write_id!r}")
    return taken


def _ranges(
    options: Options, cluster: Cluster, query: "Query", stack: ExitStack, *sinks: "StreamName"
) -> "tuple[dict[str, PlannedRead], TakenRange | None]":
    """The ranges of a query's streams, by the names in the query; and the one that a consumer has taken."""
    scope = cluster.client.config.scope
    streams = {name: cluster.name(name) for name in query.streams}
    check_named(options, [*streams.values(), *sinks], scope)
    if options.since is None:
        found = {name: range_by(options, cluster.client, stream) for name, stream in streams.items()}
        return {name: plan(cluster, of, options) for name, of in found.items()}, None
    if len(streams) != 1:
        named = ", ".join(streams) or "none"
        raise ConfigurationError(
            f"--since last reads the next interval of one stream, but the query has {len(streams)} ({named}): others "
            "would not be the same when it is repeated. Leave --since out, or insert into a stream first"
        )
    from pravega_jobs.commands.consumers import taken_range

    [(name, stream)] = streams.items()
    taken = stack.enter_context(taken_range(options, cluster, stream))
    return {name: plan(cluster, taken, options)}, taken
