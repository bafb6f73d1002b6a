"""`pravega`: its grammar, as the reference says it, and its errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tools.command_reference import verbs

from aiopravega.commands.main import OFFERED, TOPICS, main, offered

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "commands.md"
ROW = re.compile(r"^\| `([a-z -]+)` \| *(\w*) *\| *(|makes|changes) *\|.*\|$", re.MULTILINE)
VERBS = {" ".join(path): command for path, command in verbs() if not isinstance(command, click.Group)}


def test_the_table_of_the_grammar_is_that_of_the_parser() -> None:
    table = {words: (first, effect) for words, first, effect in ROW.findall(REFERENCE.read_text())}
    parser = {}
    for words, command in VERBS.items():
        arguments = [each.name for each in command.params if isinstance(each, click.Argument)]
        asks = "yes" in {each.name for each in command.params}
        effect = table.get(words, ("", ""))[1]
        parser[words] = (arguments[0] if arguments else "", "changes" if asks else effect.replace("changes", ""))

    assert table == parser


@pytest.mark.parametrize("command", VERBS.values(), ids=VERBS)
def test_every_command_prints_json_and_says_what_its_arguments_are(command: click.Command) -> None:
    names = [each.name for each in command.params]

    assert names[-1] == "json"
    assert command.help
    assert all(getattr(each, "help", "") for each in command.params if isinstance(each, click.Option))


def test_all_topics_use_the_same_words_for_the_same_thing() -> None:
    words = {name.split()[-1] for name in VERBS}

    assert not words & {"ls", "describe", "drop", "make", "rm", "new", "add"}


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_the_command_lists_its_topics(words: list[str], capsys) -> None:
    assert main(words) == 0
    listed = capsys.readouterr().out
    assert all(topic in listed for topic in [*TOPICS, *OFFERED])


@pytest.mark.parametrize("topic", [*TOPICS, *OFFERED])
def test_every_topic_explains_itself(topic: str, capsys) -> None:
    assert main([topic, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: pravega {topic} ")


def test_a_command_that_is_not_installed_says_what_to_install() -> None:
    command = offered("sql", [])
    with pytest.raises(click.ClickException, match=r"pip install 'pravega-jobs\[sql\]'"):
        command.main(["SELECT 1", "--format", "csv"], standalone_mode=False)


def test_the_version_is_that_of_the_distribution(capsys) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pravega \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("catalog ls", "use pravega streams"),
        ("topics --list", "use pravega streams"),
        ("nothing", "there are read, write, streams"),
        ("streams ls", "use list"),
        ("groups describe a/b", "use show"),
        ("streams drop a/b", "use delete"),
        ("cuts describe a/b", "there are "),
        ("read --topic a", "--topic: write SCOPE/STREAM first"),
        ("read a/b --from-beginning", "starts at the head"),
        ("read a/b startingOffsets=earliest", "startingOffsets: use --start"),
        ("write a/b --bootstrap-server=x:9092", "--bootstrap-server: use --controller"),
        ("cuts forget a/b --consumer c --dry-run", "leave --yes out"),
        ("ledger list --scope shop", "--scope: write SCOPE first"),
        ("read a/b --max 0", "Invalid value for '--max'"),
        ("read a/b --from never", "'never' is not a time"),
        ("streams show", "Missing argument 'SCOPE/STREAM'"),
    ],
)
def test_a_wrong_word_is_refused_with_the_right_one(words: str, said: str, capsys) -> None:
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_the_shell_is_told_how_to_complete() -> None:
    program = "from aiopravega.commands.main import main; raise SystemExit(main())"
    environment = {"_PRAVEGA_COMPLETE": "bash_complete", "COMP_WORDS": "pravega streams tr", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "plain,truncate\n"
