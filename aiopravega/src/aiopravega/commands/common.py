"""Shared parts of the commands: options of the cluster and the ledger, reports of errors, tables of text."""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from aiopravega.client import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.ledger import CUT_TABLE, DEFAULT_TABLE, CommitLedger, CutLedger
from aiopravega.names import StreamName

Action = Callable[[PravegaClient, argparse.Namespace], Awaitable[int]]
# A text, because the class takes no parameters when it runs; argparse has no public name for it.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - see above
NEW_POLICY_HELP = "policy of a new group; default: BackwardTransitive, of custom formats AllowAny"
DECLARED_ONLY_HELP = "JSON: assume that writers write declared properties only, where additionalProperties is not given"
NO_SCOPE = "no scope given: name one, or set PRAVEGA_SCOPE"
_INTERRUPTED = 130


def add_command(
    commands: Commands, name: str, action: Callable[..., Awaitable[int]], text: str, **words: Any
) -> argparse.ArgumentParser:
    """Add a command, with the text of its help and what else `add_parser` takes; returns its parser."""
    parser = commands.add_parser(name, help=text, **words)
    parser.set_defaults(action=action)
    return parser


def add_json(parser: argparse.ArgumentParser, text: str = "print JSON") -> None:
    """Add the option that asks for JSON; `show` follows it."""
    parser.add_argument("--json", action="store_true", help=text)


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add the option without which nothing is done; `only_say` is for that case."""
    parser.add_argument("--yes", action="store_true", help="do it; without this option, only say what would be done")


def add_controller(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the cluster."""
    parser.add_argument(
        "--controller", metavar="URI", help="controller; default: PRAVEGA_CONTROLLER_URI, as all other settings"
    )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the cluster and the ledger."""
    add_controller(parser)
    parser.add_argument(
        "--ledger", metavar="SCOPE/TABLE", help=f"cut ledger; default: {CUT_TABLE} of the stream's scope"
    )


def add_commit_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the cluster and the commit ledger; `commit_ledger_of` reads them."""
    add_controller(parser)
    parser.add_argument("--scope", help="scope of the ledger; default: PRAVEGA_SCOPE")
    parser.add_argument("--table", default=DEFAULT_TABLE, help="table of the ledger; default: %(default)s")


def commit_ledger_of(client: PravegaClient, options: argparse.Namespace) -> CommitLedger:
    """The commit ledger that the options name.

    Raises:
        ConfigurationError: no scope is named, and there is no default.
    """
    scope = scope_of(client, options.scope, "no scope of the ledger given: give --scope, or set PRAVEGA_SCOPE")
    return client.commit_ledger(scope, options.table)


def ledger_of(client: PravegaClient, options: argparse.Namespace, scope: str) -> CutLedger:
    """The cut ledger that the options name, or the default one of a scope."""
    named = StreamName.parse(options.ledger, client.config.scope) if options.ledger else StreamName(scope, CUT_TABLE)
    return client.cut_ledger(named.scope, named.stream)


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


_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def number_with_unit(text: str, pattern: str, units: Mapping[str, int]) -> int:
    """Read a number with a unit, and multiply it by the unit's value; `pattern` has a group for each of the two."""
    matched = re.fullmatch(pattern, text.strip().lower())
    if matched is None or matched[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number and one of {', '.join(filter(None, units))}")
    return int(matched[1]) * units[matched[2]]


def duration(text: str) -> timedelta:
    """Read a length of time, such as `90s`, `15m`, `6h` or `1d`."""
    return timedelta(seconds=number_with_unit(text, r"(\d+) ?([a-z])", _SECONDS))


def event_time(text: str) -> datetime:
    """Read a time in ISO 8601, in UTC if it has no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: {error}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def run(options: argparse.Namespace) -> int:
    """Run the action of the options with a client; returns the exit code. Errors go to standard error."""

    async def work() -> int:
        given = {} if options.controller is None else {"controller_uri": options.controller}
        async with PravegaClient(PravegaConfig(**given)) as client:
            action: Action = options.action
            return await action(client, options)

    return exit_code_of(work())


def exit_code_of(work: Coroutine[Any, Any, int]) -> int:
    """Run the work of a command in an event loop; returns the exit code. Errors go to standard error."""
    try:
        return asyncio.run(work)
    except PravegaError as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED


def show(options: argparse.Namespace, values: object, text: str) -> int:
    """Print the values as JSON if `--json` is given, and the text otherwise; returns the exit code 0."""
    print(json.dumps(values, indent=2) if options.json else text)
    return 0


def only_say(text: str) -> int:
    """Say on standard error what `--yes` would do; returns the exit code 1."""
    print(text, file=sys.stderr)
    return 1


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows of text in columns."""
    texts = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    )
