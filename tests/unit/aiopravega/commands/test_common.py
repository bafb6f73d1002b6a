"""What all commands share: the question before a change, and tables on terminals."""

import os
import pty
import subprocess
import sys

import pytest

from aiopravega.commands.common import Options, decided, table

ASK = """
import asyncio
from aiopravega.commands.common import Options, decided
async def ask(): return decided(Options(yes=False), "It is deleted.")
print("answer", asyncio.run(ask()))
"""


def on_a_terminal(program: str, typed: bytes) -> str:
    """The output of a program on a terminal of its own, on which somebody types."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while part := os.read(ours, 1000):
            shown += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    process.wait(60)
    return shown.decode()


@pytest.mark.parametrize(("typed", "answer"), [(b"y\n", True), (b"\n", False), (b"n\n", False), (b"\x04", False)])
def test_a_person_at_a_terminal_is_asked(typed: bytes, answer: bool) -> None:
    shown = on_a_terminal(ASK, typed)

    assert "It is deleted." in shown
    assert "Do it? [y/N]" in shown
    assert f"answer {answer}" in shown
    assert ("Nothing was done." in shown) is not answer


def test_who_cannot_be_asked_is_told_of_yes(capsys) -> None:
    assert not decided(Options(yes=False), "It is deleted.")
    assert capsys.readouterr().err == "It is deleted.\nNothing was done. To do it, say --yes.\n"
    assert decided(Options(yes=True), "It is deleted.")
    assert capsys.readouterr().err == ""


def test_a_table_is_plain_in_a_pipe_and_ruled_on_a_terminal() -> None:
    assert table(("name", "bytes"), [("a", 1), ("long", 22)]) == "name  bytes\na     1\nlong  22"

    program = "from aiopravega.commands.common import table; print(table(('name', 'bytes'), [('[red]', 1)]))"
    shown = on_a_terminal(program, b"")
    assert "[red]" in shown
    assert "───" in shown
