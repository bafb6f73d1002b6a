"""The command `pravega`: its topics, each a module of this folder that is loaded when it is asked for.

Other distributions offer the commands in `OFFERED`, by entry points.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final, NoReturn

import click

from aiopravega.commands.grammar import DONE, ERROR, INTERRUPTED, Topic, end_output

TOPICS: Final = {
    "read": "print the events of a stream: all, between cuts or times, or new ones",
    "write": "write lines or files to a stream",
    "streams": "streams, with the schemas of their events: list, show, create, change, delete",
    "scopes": "scopes: list, show, create, delete",
    "tables": "key-value tables and their entries",
    "groups": "reader groups of Java and Flink: how far they are, checkpoints; create, reset, delete",
    "lag": "what all consumers, reader groups and subscribers of some scopes have not read yet, in one table",
    "metrics": "lag of groups and consumers, sizes of streams, for Prometheus: once, or by HTTP",
    "schema": "compare a schema with files or a group of the registry before it is used; register it",
    "ledger": "exactly-once writes: their states, and a person's decisions about them",
    "cuts": "intervals of consumers: which ranges they have, what is open or gone, pictures; skip, forget, reopen",
    "backfill": "process the past of a stream, interval by interval",
}
# Commands of other distributions, and what has to be installed for each.
OFFERED: Final = {
    "sql": "query ranges of streams by SQL; write what a query finds, exactly once (needs pravega-jobs[sql])",
    "errors": "dead letters: events that could not be decoded; also `pravega dead` (needs pravega-jobs[arrow])",
    "replay": "run recorded intervals through other code, and compare with what was written (needs pravega-jobs[sql])",
    "kafka": "copy topics of Kafka into streams, compare, switch consumer groups, go back (needs pravega-jobs[kafka])",
    "export": "write a range of a stream to a file of Parquet, CSV or JSON (needs pravega-jobs[arrow])",
}
# Other words for commands, for people who look for them.
_ALSO: Final = {"dead": "errors"}
# The group of entry points by which they are offered; the name is that of the command.
_COMMANDS: Final = "aiopravega.commands"


class _Pravega(Topic):
    def list_commands(self, _: click.Context) -> list[str]:
        return [*TOPICS, *OFFERED]

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        name = _ALSO.get(name, name)
        if name in OFFERED:
            return offered(name, entry_points(group=_COMMANDS, name=name))
        if name not in TOPICS:
            return None
        # A topic brings libraries that the others do not need.
        command: click.Command = import_module(f"aiopravega.commands.{name}").command
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*TOPICS.items(), *OFFERED.items()])


def offered(name: str, found: Iterable[EntryPoint]) -> click.Command:
    """A command of another distribution; if that is not installed, one that says what to install."""
    for each in found:
        loaded: click.Command = each.load()
        return loaded
    needed = OFFERED[name].rpartition("(needs ")[2].rstrip(")")
    said = f"`pravega {name}` is not installed: pip install '{needed}'"

    def refuse() -> NoReturn:
        raise click.ClickException(said)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=refuse, context_settings=anything, help=said)


cli = _Pravega(
    name="pravega",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Read, write and inspect Pravega, and decide. A server to try things out comes with pravega-emulator.",
    epilog="More about a command: pravega COMMAND --help. Exit status: 0 done, 1 the answer is no, 2 an error.",
)
cli = click.version_option(package_name="aiopravega", message="pravega %(version)s")(cli)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status: 0 done, 1 not done or not so, 2 an error, 130 interrupted."""
    try:
        status = cli.main(arguments, prog_name="pravega", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return ERROR
    except click.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        return end_output()
    return status if isinstance(status, int) else DONE
