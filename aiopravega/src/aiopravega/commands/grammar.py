"""The grammar of `pravega`: how a command is made, and which words of other programs its errors understand.

It knows no cluster, so that the help and the completion of shells are quick.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

# Exit statuses.
DONE: Final = 0
NO: Final = 1
ERROR: Final = 2
INTERRUPTED: Final = 130

# Words of other programs, or of earlier commands, and what is said here.
_VERBS: Final = {
    "ls": "list",
    "describe": "show",
    "drop": "delete",
    "rm": "delete",
    "make": "create",
    "alter": "update",
    "consume": "pravega read",
    "console-consumer": "pravega read",
    "produce": "pravega write",
    "console-producer": "pravega write",
    "catalog": "pravega streams",
    "topics": "pravega streams",
    "stream": "pravega streams",
    "scope": "pravega scopes",
    "table": "pravega tables",
    "consumer-groups": "pravega groups",
    "group": "pravega groups",
    "ledgers": "pravega ledger",
}
_OPTIONS: Final = {
    "topic": "write SCOPE/STREAM first, without an option",
    "stream": "write SCOPE/STREAM first, without an option",
    "scope": "write SCOPE first, without an option",
    "bootstrap-server": "use --controller tcp://HOST:PORT, or PRAVEGA_CONTROLLER_URI",
    "broker-list": "use --controller tcp://HOST:PORT, or PRAVEGA_CONTROLLER_URI",
    "zookeeper": "use --controller tcp://HOST:PORT, or PRAVEGA_CONTROLLER_URI",
    "from-beginning": "`pravega read` starts at the head, unless --start, --from or --tail is given",
    "startingoffsets": "use --start earliest, --start latest, or --start CUT",
    "start_stream_cut": "use --start CUT",
    "endingoffsets": "use --end CUT",
    "end_stream_cut": "use --end CUT",
    "offset": "use --start CUT: a stream has a cut instead of offsets",
    "starting-timestamp": "use --from TIME",
    "max-messages": "use --max N",
    "partition": "a stream has segments, which scale: events are found by cuts or times",
    "partitions": "use --segments N",
    "replication-factor": "Pravega's storage replicates: a stream has no such setting",
    "retention.ms": "use --keep-time DURATION",
    "retention.bytes": "use --keep-bytes SIZE",
    "parse.key": "use --key-separator TEXT, or --key-field NAME",
    "key.separator": "use --key-separator TEXT",
    "property": "use --key-separator TEXT or --key-field NAME to write, --json to read",
    "formatter": "use --format",
    "group": "a reader group is moved by `pravega groups`; a bounded read needs none",
    "dry-run": "leave --yes out: without it a command says what it would do",
}


# Controls that a terminal would obey.
SHOWN_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def end_output() -> int:
    """Print no more: the reader of a pipe, such as `head`, has enough. Returns the exit status."""
    # Python would complain when it flushes the rest at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


@contextmanager
def interrupted_at_once() -> Iterator[None]:
    """Have Ctrl-C end a block without `await`: the handler of asyncio would only end its task where that waits."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def confirmed() -> bool:
    """Ask a person; True: the answer is yes."""
    with interrupted_at_once():
        try:
            return click.confirm("Do it?", err=True)
        except click.Abort:
            return False


class Argument(click.Argument):
    """A positional argument with a text in the help."""

    def __init__(self, name: str, metavar: str, text: str = "", **words: Any) -> None:
        super().__init__([name], metavar=metavar, **words)
        self.help = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """The line in the help."""
        return self.make_metavar(ctx), self.help or ""


class _Hints(click.Command):
    """Errors that name the word of `pravega` for a word of another program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            known = {option for parameter in self.params for option in parameter.opts}
            raise hinted(error, [word for word in words if word.partition("=")[0] not in known], ctx) from None


class Verb(_Hints):
    """A command that does something."""


class Topic(_Hints, click.Group):
    """A command with verbs; without one it shows its help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Ask for the help if nothing else is asked for."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb, or name the word for it."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = self.list_commands(ctx)
            use = _VERBS.get(name, "")
            there = use.removeprefix("pravega ") in known if ctx.parent is None else use in known
            said = f"use {use}" if there or (use.startswith("pravega ")) else f"there are {', '.join(known)}"
            raise click.UsageError(f"{ctx.command_path} has no {name!r}: {said}", ctx)
        return super().resolve_command(ctx, args)


def hinted(error: click.UsageError, words: Sequence[str], ctx: click.Context) -> click.UsageError:
    """An error of the arguments that names what to write for a word of another program among them."""
    bare = {word: word.partition("=")[0].lstrip("-").lower() for word in words}
    hints = [f"{word.partition('=')[0]}: {_OPTIONS[name]}" for word, name in bare.items() if name in _OPTIONS]
    return click.UsageError(" ".join([error.format_message(), *hints]), ctx) if hints else error
