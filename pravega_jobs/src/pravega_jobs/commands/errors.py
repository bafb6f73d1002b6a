"""The command `pravega errors`: the errors of landings, which an errors table has, and which of them count."""

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from aiopravega.commands.common import Option, Options, show, table, verb
from aiopravega.commands.grammar import SHOWN_CONTROLS, Argument, Topic, interrupted_at_once

if TYPE_CHECKING:
    from pravega_jobs.landing import IntervalErrors

command = Topic(name="errors", help="Errors of landings: events that could not be decoded, in errors tables.")
_TABLE: Final = Argument("table", "TABLE", "whose rows were landed: parquet:/folder, delta:/folder, iceberg:…")
_ERRORS: Final = Option(
    ["--errors"], metavar="TABLE", help="the errors table; default: those that the notes of the table name"
)
_SHOWN_BYTES: Final = 80
_COLUMNS: Final = ("interval_name", "generation", "pointer", "reason", "event")


@verb(command, "list", _TABLE, _ERRORS, has_client=False)
async def _list(options: Options) -> int:
    """List the errors of each landing of a table: counted, missing, or not counted. Missing ones are exit status 1."""
    from pravega_jobs.landing import ErrorsState, list_errors  # libraries of tables

    with interrupted_at_once():
        found = list_errors(options.table, options.errors)
    rows = [list(each.to_json().values()) for each in found]
    header = ("consumer", "interval", "generation", "state", "landed", "found", "errors")
    missing = any(each.state is ErrorsState.MISSING for each in found)
    return show(options, [each.to_json() for each in found], table(header, rows), yes=not missing)


@verb(
    command,
    "show",
    _TABLE,
    _ERRORS,
    Option(["--interval"], metavar="NAME", help="of this interval only"),
    Option(["--consumer"], metavar="NAME", help="of this consumer only"),
    Option(["--max", "most"], type=click.IntRange(min=1), default=20, metavar="N", help="the most errors (20)"),
    has_client=False,
)
async def _show(options: Options) -> int:
    """Show errors that count: where each event is, the reason, and the event itself."""
    from pravega_jobs.landing import ErrorsState, list_errors

    with interrupted_at_once():
        wanted = [
            each
            for each in list_errors(options.table, options.errors)
            if each.state is not ErrorsState.NOT_COUNTED
            and options.interval in (None, each.interval)
            and options.consumer in (None, each.consumer)
        ]
        found = list(islice((row for each in wanted for row in _rows(each)), options.most))
    shown = [[_text(row[name]) for name in _COLUMNS] for row in found]
    return show(options, [_plain(row) for row in found], table(_COLUMNS, shown), yes=found)


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
