"""The reference of the commands, from the parsers that they make: Click's of `pravega`, argparse's of the emulator."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from unittest.mock import patch

import click

from aiopravega.commands.main import cli
from pravega_emulator import cli as emulator


class ParserMade(Exception):  # noqa: N818 - it is not an error, but how a parser gets here
    """Stops a command where it would read its arguments."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def parser_of(main: Callable[[list[str]], int]) -> argparse.ArgumentParser:
    """The parser that a command makes."""

    def stop(parser: argparse.ArgumentParser, *_: object) -> None:
        raise ParserMade(parser)

    with patch.object(argparse.ArgumentParser, "parse_args", stop):
        try:
            main([])
        except ParserMade as made:
            return made.parser
    raise ValueError(f"{main.__module__} does not read its arguments by argparse")


def text_of(action: argparse.Action) -> str:
    """The help of an argument, on one line of a table."""
    return " ".join(((action.help or "") % {**vars(action), "prog": "pravega"}).split()).replace("|", "\\|")


def name_of(action: argparse.Action) -> str:
    """An argument as it is written on the command line."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return f"`{value if isinstance(action.metavar, str) else action.dest}`"
    if action.nargs == 0:
        return ", ".join(f"`{each}`" for each in action.option_strings)
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else value
    return ", ".join(f"`{each} {choices}`" for each in action.option_strings)


def rows(parser: argparse.ArgumentParser, about: str = "") -> Iterator[str]:
    """A command: what it does, its arguments, and the commands in it."""
    actions = [each for each in parser._actions if each.dest != "help"]  # noqa: SLF001 - argparse shows them to nobody
    inner = [each for each in actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001 - the same
    own = [each for each in actions if each not in inner]
    yield from ("", f"### {parser.prog}", (parser.description or about).strip(), "")
    if own:
        yield from ("| argument | meaning |", "|---|---|")
        yield from (f"| {name_of(action).replace('|', chr(92) + '|')} | {text_of(action)} |" for action in own)
    for action in inner:
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - the same
        for name, command in action.choices.items():
            yield from rows(command, helps.get(name, ""))


def verbs(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands of `pravega`, topics too, with the words that name them."""
    if path:
        yield path, command
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None
                yield from verbs(inner, (*path, name))


def check_words(words: Sequence[str]) -> None:
    """Parse what somebody types after `pravega`, and run nothing.

    Raises:
        click.UsageError: the parser refuses it.
    """
    command: click.Command = cli
    left, ctx = list(words), None
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        ctx = click.Context(command, parent=ctx, info_name=left[0])
        _, inner, left = command.resolve_command(ctx, left)
        assert inner is not None
        command = inner
    if not {"--help", "--version"} & set(left):
        command.make_context(command.name, left, parent=ctx)


def of_verb(path: Sequence[str], command: click.Command) -> Iterator[str]:
    """A command of `pravega`: what it does, and its arguments and options."""
    yield from ("", f"### pravega {' '.join(path)}", " ".join((command.help or "").split()), "")
    if isinstance(command, click.Group):
        return
    yield from ("| argument | meaning |", "|---|---|")
    with click.Context(command) as ctx:
        for parameter in command.params:
            names = parameter.opts if isinstance(parameter, click.Option) else []
            value = "" if getattr(parameter, "is_flag", False) else parameter.make_metavar(ctx)
            name = ", ".join(f"`{each} {value}`".replace(" `", "`") for each in names) or f"`{value}`"
            text = " ".join((getattr(parameter, "help", None) or "").split())
            yield row(name, text)


def row(name: str, text: str) -> str:
    """A row of a table, in which a bar is no border."""
    bar, escaped = "|", "\\|"
    return f"| {name.replace(bar, escaped)} | {text.replace(bar, escaped)} |"


def commands() -> Iterator[str]:
    """All topics of `pravega`, and `pravega-emulator`."""
    yield "## pravega"
    for path, command in verbs():
        yield from of_verb(path, command)
    yield from ("", "## pravega-emulator", *rows(parser_of(emulator.main)))
