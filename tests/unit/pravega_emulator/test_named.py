"""Servers with a name, without a server: who holds a name, and what the command says when there is nothing to find."""

import subprocess
import sys
from pathlib import Path

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator.cli import main
from pravega_emulator.named import NamedServer
from pravega_emulator.server import PravegaServer

SERVER = PravegaServer("tcp://127.0.0.1:1", Path("/logs"))
HOLDER = """
import sys
from pathlib import Path
from pravega_emulator.cli import _ended_by_signals
from pravega_emulator.named import NamedServer
from pravega_emulator.server import PravegaServer
named = NamedServer("mine")
with named.claimed(), _ended_by_signals():
    named.publish(PravegaServer("tcp://127.0.0.1:1", Path("/logs")))
    print("published", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PRAVEGA_EMULATOR_CACHE", str(tmp_path))


@pytest.fixture
def holder():
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "published\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.usefixtures("holder")
def test_a_published_server_is_found_by_its_name():
    assert NamedServer("mine").running() == SERVER
    assert [named.name for named in NamedServer.matching()] == ["mine"]
    assert NamedServer("other").running() is None


@pytest.mark.usefixtures("holder")
def test_a_name_is_held_by_one_process_at_a_time():
    with pytest.raises(EmulatorError, match="down --name mine"), NamedServer("mine").claimed():
        pass


def test_a_stopped_server_is_gone(holder):
    assert NamedServer("mine").stop()

    assert holder.wait(10) == 0
    assert NamedServer("mine").running() is None
    assert not NamedServer("mine").stop()


def test_a_killed_server_is_gone_although_its_files_are_there(holder):
    holder.kill()
    holder.wait()

    assert NamedServer("mine").running() is None
    with NamedServer("mine").claimed():  # and its name is free
        assert NamedServer("mine").running() is None


def test_what_others_read_is_for_the_user_alone(holder, tmp_path):
    del holder
    assert (tmp_path / "servers" / "mine" / "state.json").stat().st_mode & 0o077 == 0
    assert (tmp_path / "servers" / "mine").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["", "a/b", "../up", "a b"])
def test_a_name_that_is_no_folder_is_refused(name):
    with pytest.raises(EmulatorError, match="not a name"):
        NamedServer(name)


def test_the_command_says_when_nothing_runs(capsys):
    assert main(["status"]) == 1
    assert main(["status", "--name", "mine"]) == 1
    assert main(["down"]) == 0

    captured = capsys.readouterr()
    assert captured.err.splitlines() == ["no emulator runs", "mine: not running"]
    assert captured.out == "default: no such server runs\n"


@pytest.mark.usefixtures("holder")
def test_the_command_shows_what_runs_and_how_to_reach_it(capsys):
    assert main(["status"]) == 0
    assert "tcp://127.0.0.1:1" in capsys.readouterr().out

    assert main(["status", "--name", "mine", "--export"]) == 0
    assert capsys.readouterr().out == "export PRAVEGA_CONTROLLER_URI=tcp://127.0.0.1:1\n"


@pytest.mark.usefixtures("holder")
def test_run_gives_the_servers_environment_and_the_commands_exit_code(capfd, monkeypatch):
    monkeypatch.setenv("PRAVEGA_USERNAME", "of another server")

    code = main(["run", "--name", "mine", "--", "sh", "-c", "echo $PRAVEGA_CONTROLLER_URI $PRAVEGA_USERNAME; exit 7"])

    assert code == 7
    assert capfd.readouterr().out == "tcp://127.0.0.1:1\n"


@pytest.mark.usefixtures("holder")
def test_run_refuses_options_for_a_running_server_and_unknown_commands(capsys):
    assert main(["run", "--name", "mine", "--tls", "--", "true"]) == 1
    assert "cannot change --tls" in capsys.readouterr().err

    assert main(["run", "--name", "mine"]) == 1
    assert "no command" in capsys.readouterr().err

    assert main(["run", "--name", "mine", "--", "/nowhere/command"]) == 127
    assert "/nowhere/command" in capsys.readouterr().err


def test_without_java_every_way_to_start_says_so_in_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    for words in (["up"], ["up", "--durable"], ["run", "--", "true"]):
        assert main(words) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert "install a JDK or JRE 17" in error
        assert error.count("\n") == 1


def test_options_that_do_not_go_together_are_refused(capsys):
    assert main(["up", "--durable", "--port", "1"]) == 1
    assert "not for --durable" in capsys.readouterr().err

    # A server that loses its data with its process cannot be started again.
    assert main(["up", "--restart"]) == 1
    assert "--restart is for --durable" in capsys.readouterr().err


@pytest.mark.usefixtures("holder")
@pytest.mark.parametrize("words", [["status", "--export"], ["status", "--name", "other"], ["down"]])
def test_servers_with_other_names_are_named(words, capsys):
    main(words)

    assert "name one of those that do by --name: mine" in "".join(capsys.readouterr())
