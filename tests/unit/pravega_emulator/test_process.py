"""Processes that never outlive the one that wanted them. The servers here are small shell scripts."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator.process import ServerProcess

SECONDS = 20


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended but was not collected yet by its new parent still has a pid.
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.fixture
def server(tmp_path):
    started: list[ServerProcess] = []

    def make(script: str, **environment: str) -> ServerProcess:
        command = ["/bin/sh", "-c", script]
        process = ServerProcess("server", command, tmp_path / "server.log", tmp_path, environment)
        started.append(process)
        return process

    yield make
    for process in started:
        process.kill()


def test_it_runs_until_it_is_stopped(server):
    process = server("exec sleep 60")
    process.start()
    pid = process.pid

    assert process.running
    assert lives(pid)
    process.stop()

    assert not process.running
    assert process.pid is None
    assert not lives(pid)
    process.stop()  # once more does no harm


def test_a_server_that_does_not_want_to_end_is_killed(server):
    process = server("trap '' TERM; echo started; while :; do sleep 0.1; done")
    process.start()
    assert eventually(lambda: b"started" in process.output())
    pid = process.pid

    process.stop()

    assert not lives(pid)


def test_a_stop_lets_the_server_finish_and_a_kill_does_not(server):
    script = "trap 'echo finished; exit 0' TERM; echo started; while :; do sleep 0.05; done"
    polite, killed = server(script), server(script)

    polite.start()
    assert eventually(lambda: b"started" in polite.output())
    polite.stop()
    assert b"finished" in polite.output()

    killed.start()
    assert eventually(lambda: b"started" in killed.output())
    killed.kill()
    assert b"finished" not in killed.output()


def test_the_output_goes_to_the_log_and_the_environment_is_ours_and_more(server, tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_US", "one")
    process = server('echo "$FROM_US $FOR_IT"; echo to standard error >&2; exec sleep 60', FOR_IT="two")
    process.start()

    assert eventually(lambda: b"standard error" in process.output())
    assert (tmp_path / "server.log").read_text().splitlines() == ["one two", "to standard error"]


def test_a_failure_shows_the_last_lines_since_the_start_and_the_log(server, tmp_path):
    process = server("echo first line; exit 3")
    process.start()
    assert eventually(lambda: not process.running)
    process.start()
    assert eventually(lambda: not process.running)

    message = str(process.failure("ended while it started"))

    assert message.startswith("server ended while it started")
    assert str(tmp_path / "server.log") in message
    assert message.count("first line") == 1


def test_a_port_that_was_taken_is_recognised(server):
    process = server("echo 'java.net.BindException: Address already in use'")
    process.start()

    assert eventually(process.lost_a_port)


def test_a_program_that_cannot_be_started_is_named(tmp_path):
    process = ServerProcess("server", ["/nowhere/java"], tmp_path / "log", tmp_path)

    with pytest.raises(EmulatorError, match=r"cannot start server with /nowhere/java.*No such file"):
        process.start()


def test_a_program_that_should_end_by_itself_is_waited_for(server):
    server("exit 0").run(SECONDS)
    with pytest.raises(EmulatorError, match=r"ended with exit code 3(.|\n)*what went wrong"):
        server("echo what went wrong; exit 3").run(SECONDS)
    with pytest.raises(EmulatorError, match="took more than 0 s"):
        server("exec sleep 60").run(0.1)


OWNER = """
import signal, sys, threading
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which tests that are started with nohup hand down as ignored
from pravega_emulator.process import ServerProcess
process = ServerProcess("server", ["/bin/sleep", "600"], Path(sys.argv[1]) / "log", Path(sys.argv[1]))
# Started by a thread that ends: the server belongs to the process, not to the thread.
thread = threading.Thread(target=process.start)
thread.start()
thread.join()
print(process.pid, process._keeper.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    server, keeper = map(int, process.stdout.readline().split())
    yield process, server, keeper
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_however_its_owner_dies_the_server_ends(owner, number):
    process, server, keeper = owner
    assert lives(server)

    process.send_signal(number)
    process.wait(SECONDS)

    assert eventually(lambda: not lives(server))
    assert eventually(lambda: not lives(keeper))


def test_the_end_of_the_thread_that_started_it_does_not_end_the_server(owner):
    _, server, _ = owner
    time.sleep(1.5)  # three times the interval at which the keeper looks for its owner: nothing may happen in it

    assert lives(server)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed process")
def test_if_the_keeper_itself_is_killed_the_server_ends(owner):
    _, server, keeper = owner

    os.kill(keeper, signal.SIGKILL)

    assert eventually(lambda: not lives(server))
