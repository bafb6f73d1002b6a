"""The command `pravega errors`, also `pravega dead`: errors in errors tables and streams, and which of them count."""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from aiopravega.commands.common import REGISTRY, YES, Option, Options, decided, show, table, verb
from aiopravega.commands.grammar import NO, SHOWN_CONTROLS, Argument, Topic, interrupted_at_once
from aiopravega.config import PravegaConfig
from pravega_jobs.commands.ranges import READ_OPTION, check_named, connected_registry, options_of
from pravega_jobs.frame_kinds import need_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_jobs.landing import IntervalErrors, LandingTable, WrittenStream

command = Topic(
    name="errors", help="Errors, or dead letters: events that could not be decoded, in errors tables and streams."
)
_TABLE: Final = Argument(
    "table", "TABLE|STREAM", "that has the rows: parquet:/folder, delta:/folder, iceberg:…, or stream:scope/name"
)
_ERRORS: Final = Option(
    ["--errors"], metavar="TABLE", help="the errors table or stream; default: those that the notes of the table name"
)
_LEDGER: Final = Option(
    ["--commit-ledger"], metavar="SCOPE/TABLE", help="of the writes to a stream; default: the one in its scope"
)
_INTERVAL: Final = Option(["--interval"], metavar="NAME", help="of this interval only")
_CONSUMER: Final = Option(["--consumer"], metavar="NAME", help="of this consumer only")
_SHOWN_BYTES: Final = 80
_LISTED: Final = ("consumer", "interval", "generation", "state", "landed", "found", "errors")
_COLUMNS: Final = ("interval_name", "generation", "pointer", "reason", "event")


@verb(command, "list", _TABLE, _ERRORS, _LEDGER, has_client=False)
async def _list(options: Options) -> int:
    """List the errors of each landing of a table, or of each write to a stream. Missing ones are exit status 1.

    They are counted, missing, not counted, or replayed.
    """
    from pravega_jobs.landing import ErrorsState, list_errors  # libraries of tables

    with interrupted_at_once():
        found = list_errors(_target(options), options.errors)
    values = [each.to_json() for each in found]
    rows = [[value[name] for name in _LISTED] for value in values]
    missing = any(each.state is ErrorsState.MISSING for each in found)
    return show(options, values, table(_LISTED, rows), yes=not missing)


@verb(
    command,
    "show",
    _TABLE,
    _ERRORS,
    _LEDGER,
    _INTERVAL,
    _CONSUMER,
    Option(["--max", "most"], type=click.IntRange(min=1), default=20, metavar="N", help="the most errors (20)"),
    has_client=False,
)
async def _show(options: Options) -> int:
    """Show errors that count: where each event is, the reason, and the event itself."""
    from pravega_jobs.landing import list_errors

    with interrupted_at_once():
        wanted = [
            each
            for each in list_errors(_target(options), options.errors)
            if each.counts and each.is_of(options.consumer, options.interval)
        ]
        found = list(islice((row for each in wanted for row in _rows(each)), options.most))
    shown = [[_text(row[name]) for name in _COLUMNS] for row in found]
    return show(options, [_plain(row) for row in found], table(_COLUMNS, shown), yes=found)


@verb(
    command,
    "replay",
    _TABLE,
    _ERRORS,
    _INTERVAL,
    _CONSUMER,
    _LEDGER,
    READ_OPTION,
    Option(
        ["--with", "code"],
        metavar="MODULE:FUNCTION",
        help="makes rows of the table or the stream from decoded events, as the job does; in this folder or in "
        "PYTHONPATH, its first parameter annotated as for @task.pravega",
    ),
    Option(
        ["--event-pointer"],
        metavar="COLUMN",
        help="of the events' pointers (-o metadata_columns=event_pointer), which the function of --with keeps: events "
        "whose rows do not fit stay errors",
    ),
    Option(
        ["--new-columns"],
        type=click.Choice(["fail", "add", "ignore"]),
        default="fail",
        help="columns that the table lacks: refuse them (fail, the default), add them, ignore them",
    ),
    REGISTRY,
    YES,
    has_client=False,
)
async def _replay(options: Options) -> int:
    """Decode errors again, by the options -o, and put those that are mended beside the rows, once.

    In a table, the rows of an interval and its errors are replaced together, by its next generation. A stream gets the
    mended rows by a write of their own; options for its events are -o SCOPE/STREAM:NAME=VALUE. The stream of the
    events is not read. Exit status 1: errors are left.
    """
    need_arrow()
    from pravega_jobs.landing import WrittenStream
    from pravega_jobs.replays import replay_errors
    from pravega_jobs.sandbox.functions import functions_of_this_folder

    target = _target(options)
    streams = [target.stream] if isinstance(target, WrittenStream) else []
    check_named(options, streams, None)
    with (
        functions_of_this_folder(),
        interrupted_at_once(),
        connected_registry(options.registry, PravegaConfig()) as registry,
    ):
        change = None if options.code is None else _function(options.code)
        said = (
            "Events that can be decoded now are added to the stream."
            if streams
            else "Intervals whose errors can be decoded now are landed again, as their next generation."
        )
        if not decided(options, f"{options.table}: {said}"):
            return NO
        done = replay_errors(
            target,
            {each.name: each.value for each in options.read_options if each.stream is None},
            change=change,
            event_pointer=options.event_pointer,
            output_options=options_of(options, streams[0], None, others=False) if streams else None,
            errors=options.errors,
            consumer=options.consumer,
            interval=options.interval,
            registry=registry,
            new_columns=options.new_columns,
        )
    values = [each.to_json() for each in done]
    header = ("consumer", "interval", "generation", "errors", "left", "rows", "reason")
    shown = [[_text("" if value is None else value) for value in each.values()] for each in values]
    return show(options, values, table(header, shown), yes=not any(each.left for each in done))


def _function(code: str) -> "Callable[[pa.Table], Any]":
    """The function of a text `module:function`, for a table of Arrow."""
    from pravega_jobs.sandbox.functions import Replayed

    found = Replayed.of(code)
    return lambda table: found.call(found.kind.of_table(table))


def _target(options: Options) -> "LandingTable | WrittenStream":
    from pravega_jobs.landing import WrittenStream, table_of

    return WrittenStream.of_text(options.table, options.commit_ledger) or table_of(options.table)


def _rows(of: "IntervalErrors") -> Any:
    from pravega_jobs.landing import read_errors

    for batch in read_errors(of):
        yield from batch.to_pylist()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value[:_SHOWN_BYTES].decode(errors="backslashreplace")
    return str(value).translate(SHOWN_CONTROLS)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """An error as values of JSON; bytes that are no text in UTF-8 are `event_hex`."""
    values = {name: value for name, value in row.items() if value is not None and name != "event"}
    values["failed_at"] = row["failed_at"].isoformat()
    try:
        values["event"] = row["event"].decode()
    except UnicodeDecodeError:
        values["event_hex"] = row["event"].hex()
    return values
