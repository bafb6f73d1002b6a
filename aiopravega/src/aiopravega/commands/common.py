"""Shared parts of the commands: their options, the question before a change, reports of errors, tables of text."""

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.grammar import DONE, ERROR, INTERRUPTED, NO, Argument, Topic, Verb, confirmed, end_output
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, PravegaError, StreamNotFoundError
from aiopravega.ledger import CUT_TABLE, CutLedger
from aiopravega.names import StreamName
from aiopravega.positions import parse_position
from aiopravega.times import TimeUnit

# The values of a command's arguments and options, by their names.
Options: TypeAlias = SimpleNamespace
Action = Callable[..., Coroutine[Any, Any, int]]
NO_SCOPE = "no scope given: name one, or set PRAVEGA_SCOPE"
Option = click.Option


def parsed(parse: Callable[[str], Any], name: str = "text") -> Callable[[Any], Any]:
    """A type of Click for values that a function of this package reads from their texts."""

    def convert(value: Any) -> Any:
        try:
            return parse(value) if isinstance(value, str) else value
        except PravegaError as error:
            raise click.BadParameter(str(error)) from None

    convert.__name__ = name
    return convert


def verb(
    topic: Topic | None, name: str, *parameters: click.Parameter, has_client: bool = True, **words: Any
) -> Callable[[Action], Verb]:
    """Make a command of an action: the docstring is its help. `--controller` and `--json` are added to its parameters.

    Args:
        topic: gets the command; None: it stands by itself.
        name: as it is typed.
        parameters: its arguments and options; the action gets their values, as `Options`.
        has_client: the action gets a connected client before them.
        words: others of `click.Command`.
    """
    common = [CONTROLLER, JSON] if has_client else [JSON]

    def made(action: Action) -> Verb:
        def callback(**values: Any) -> int:
            options = Options(**values)
            return run(options, action) if has_client else exit_code_of(action(options))

        text = " ".join((inspect.getdoc(action) or "").split())
        command = Verb(name, callback=callback, params=[*parameters, *common], help=text, **words)
        if topic is not None:
            topic.add_command(command)
        return command

    return made


def number_with_unit(text: str, pattern: str, units: Mapping[str, int]) -> int:
    """Read a number with a unit, and multiply it by the unit's value; `pattern` has a group for each of the two.

    Raises:
        ConfigurationError: it is something else.
    """
    matched = re.fullmatch(pattern, text.strip().lower())
    if matched is None or matched[2] not in units:
        raise ConfigurationError(f"{text!r}: expected a number and one of {', '.join(filter(None, units))}")
    return int(matched[1]) * units[matched[2]]


_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def duration(text: str) -> timedelta:
    """Read a length of time, such as `90s`, `15m`, `6h` or `1d`.

    Raises:
        ConfigurationError: it is something else.
    """
    return timedelta(seconds=number_with_unit(text, r"(\d+) ?([a-z])", _SECONDS))


def size(text: str) -> int:
    """Read a number of bytes, such as `1000`, `64k` or `256MiB`.

    Raises:
        ConfigurationError: it is something else.
    """
    return number_with_unit(text, r"(\d+) ?([kmg]?i?)b?", _SIZES)


def event_time(text: str) -> datetime:
    """Read a time in ISO 8601, in UTC if it has no zone.

    Raises:
        ConfigurationError: it is something else.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a time: {error}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


DURATION, SIZE, TIME = parsed(duration, "duration"), parsed(size, "size"), parsed(event_time, "time")
POSITION = parsed(parse_position, "cut")
# How a range of event times is found.
TIMES: Final = (
    Option(["--ahead"], type=DURATION, help="how much newer than the time noted next events may be"),
    Option(["--unit"], type=parsed(TimeUnit.parse), default="ms", help="of event times: ns, us, ms (default), s"),
    Option(["--clip"], is_flag=True, help="take what retention has left of the times"),
)
# The parts of a stream that a command is about: between cuts, or between event times.
SPAN: Final = (
    Option(["--start"], type=POSITION, metavar="CUT", help="start here: earliest (the default), latest, or a cut"),
    Option(["--end"], type=POSITION, metavar="CUT", help="end here: latest (the default), or a cut"),
    Option(["--from", "since"], type=TIME, metavar="TIME", help="or start at this event time: ISO 8601, UTC"),
    Option(["--to", "until"], type=TIME, metavar="TIME", help="end at this event time, not included"),
    *TIMES,
)
REGISTRY = Option(["--registry"], metavar="URI", help="Schema Registry; default: PRAVEGA_SCHEMA_REGISTRY_URI, or none")
JSON = Option(["--json"], is_flag=True, help="print JSON")
YES = Option(["--yes"], is_flag=True, help="do it; without it, ask on a terminal, or only say what would be done")
CONTROLLER = Option(
    ["--controller"], metavar="URI", help="controller; default: PRAVEGA_CONTROLLER_URI, as all other settings"
)
STREAM = Argument("stream", "SCOPE/STREAM", "or STREAM, in the scope PRAVEGA_SCOPE")
SCOPE = Argument("scope", "[SCOPE]", "default: PRAVEGA_SCOPE", required=False)
SCOPES = Argument("scopes", "[SCOPE]...", "default: PRAVEGA_SCOPE", nargs=-1)
LEDGER = Option(["--ledger"], metavar="SCOPE/TABLE", help=f"cut ledger; default: {CUT_TABLE} of the stream's scope")
DECLARED_ONLY = Option(
    ["--declared-only"],
    is_flag=True,
    help="JSON: assume that writers write declared properties only, where additionalProperties is not given",
)
PROTO_PATH = Option(
    ["--proto-path", "-I"],
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="of a .proto file: where its imports are, several in their order; default: the folder of the file",
)
NEW_POLICY = Option(
    ["--new-policy"],
    metavar="POLICY",
    help="policy of a new group; default: BackwardTransitive, of custom formats AllowAny",
)


def ledger_of(client: PravegaClient, options: Options, scope: str) -> CutLedger:
    """The cut ledger that the options name, or the default one of a scope."""
    named = StreamName.parse(options.ledger, client.config.scope) if options.ledger else StreamName(scope, CUT_TABLE)
    return client.cut_ledger(named.scope, named.stream)


def stream_of(client: PravegaClient, options: Options) -> StreamName:
    """The stream that is named first.

    Raises:
        ConfigurationError: it has no scope, and there is no default.
    """
    return StreamName.parse(options.stream, client.config.scope)


async def check_stream(client: PravegaClient, stream: StreamName) -> None:
    """Check that a stream is there, where an empty answer may be a slip in its name.

    Raises:
        StreamNotFoundError: it is not.
    """
    if not await client.stream_exists(stream):
        raise StreamNotFoundError(f"there is no stream {stream}")


def scope_of(client: PravegaClient, named: str | None, error: str = NO_SCOPE) -> str:
    """The scope that is named, or the default one.

    Raises:
        ConfigurationError: no scope is named, and there is no default; the message is `error`.
    """
    scope = named or client.config.scope
    if scope is None:
        raise ConfigurationError(error)
    return scope


def scopes_of(client: PravegaClient, named: Sequence[str]) -> Sequence[str]:
    """The scopes that are named, or the default one.

    Raises:
        ConfigurationError: no scope is named, and there is no default.
    """
    return named or [scope_of(client, None)]


def run(options: Options, action: Callable[[PravegaClient, Options], Awaitable[int]]) -> int:
    """Run an action with a client; returns the exit status. Errors go to standard error."""

    async def work() -> int:
        given = {} if options.controller is None else {"controller_uri": options.controller}
        async with PravegaClient(PravegaConfig(**given)) as client:
            return await action(client, options)

    return exit_code_of(work())


def exit_code_of(work: Coroutine[Any, Any, int]) -> int:
    """Run the work of a command in an event loop; returns the exit status. Errors go to standard error."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return end_output()
    except PravegaError as error:
        click.echo(f"{click.style('error', fg='red')}: {type(error).__name__}: {error}", err=True)
        return ERROR


def decided(options: Options, said: str) -> bool:
    """Ask before a change: True if it is to be made.

    `--yes` is the answer where it is given. Otherwise the text says what the change does: on a terminal a question
    follows, elsewhere nothing is done.
    """
    if options.yes:
        return True
    click.echo(said, err=True)
    is_asked = sys.stdin.isatty() and sys.stderr.isatty()
    if is_asked and confirmed():
        return True
    click.echo("Nothing was done." + ("" if is_asked else " To do it, say --yes."), err=True)
    return False


def show(options: Options, values: object, text: str, *, yes: object = True) -> int:
    """Print the values as JSON if `--json` is given, and the text otherwise.

    Returns the exit status: 0, or 1 if `yes` is false: then nothing was done, or found.
    """
    print(json.dumps(values, indent=2) if options.json else text)
    return DONE if yes else NO


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows of text in columns; on a terminal with a rule, and broken to its width."""
    texts = [[str(cell) for cell in row] for row in (header, *rows)]
    if sys.stdout.isatty():
        return _on_a_terminal(texts)
    widths = [max(len(row[column]) for row in texts) for column in range(len(header))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    )


def _on_a_terminal(texts: Sequence[Sequence[str]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for head in texts[0]:
        made.add_column(head, overflow="fold")
    for row in texts[1:]:
        made.add_row(*map(Text, row))
    console = Console(file=sys.stdout)
    with console.capture() as captured:
        console.print(made)
    return captured.get().strip("\n")
