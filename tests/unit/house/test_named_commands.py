"""Commands that pages and messages name are those that there are: topic, verb and options.

Whole commands in blocks of pages are parsed by `test_code_blocks`; here are those within sentences.
"""

import re
from pathlib import Path

import click
import pytest
from tools.command_reference import verbs

from aiopravega.commands.main import OFFERED, TOPICS

ROOT = Path(__file__).parents[3]
COMMANDS = dict(verbs())
# A command within a sentence, up to what ends it; the names of topics of earlier builds are looked for too.
NAMED = re.compile(rf"\bpravega ({'|'.join([*TOPICS, *OFFERED, 'catalog'])})\b([^`)<\n\"]*)")
FOLDERS = ("docs", "aiopravega", "pravega_jobs", "pyspark_pravega", "pravega_emulator", "dagster_pravega", "providers")
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".md", ".py", ".html") and path.name != "command_reference.py"
] + [ROOT / "README.md", ROOT / "CHANGELOG.md"]


def named() -> list[tuple[str, str, str]]:
    """The topics and the words after them, with their files."""
    found = [
        (str(path.relative_to(ROOT)), topic, words.strip())
        for path in FILES
        for topic, words in NAMED.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 150
    return found


@pytest.mark.parametrize(("file", "topic", "words"), named())
def test_a_command_that_is_named_is_there(file: str, topic: str, words: str) -> None:
    assert (topic,) in COMMANDS, file
    command, rest = COMMANDS[topic,], words.split()
    if isinstance(command, click.Group):
        verb = rest[0].rstrip(".,:;") if rest else ""
        if not re.fullmatch("[a-z]+", verb):
            return
        assert (topic, verb) in COMMANDS, file
        command = COMMANDS[topic, verb]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    written = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", words.partition(" -- ")[0]))

    assert written <= known, file
