"""The reference of the commands, from the parsers that they make."""

import argparse
from collections.abc import Callable, Iterator
from importlib import import_module
from unittest.mock import patch

from aiopravega.commands.main import TOPICS
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


def commands() -> Iterator[str]:
    """All topics of `pravega`, and `pravega-emulator`."""
    yield "## pravega"
    for topic in TOPICS:
        yield from rows(parser_of(import_module(f"aiopravega.commands.{topic}").main))
    yield from ("", "## pravega-emulator", *rows(parser_of(emulator.main)))
