"""Processes that are started again when they end. The servers here are small shell scripts."""

import time

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator.durable import Supervisor
from pravega_emulator.process import ServerProcess

SECONDS = 20


@pytest.fixture
def start(tmp_path):
    started: list[ServerProcess] = []

    def make(script: str) -> ServerProcess:
        process = ServerProcess("server", ["/bin/sh", "-c", script], tmp_path / "server.log", tmp_path)
        process.start()
        started.append(process)
        return process

    yield make
    for process in started:
        process.kill()


def await_end(process: ServerProcess) -> None:
    deadline = time.monotonic() + SECONDS
    while process.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_running_server_is_left_alone_and_a_killed_one_starts_again(start):
    process = start("exec sleep 60")
    supervisor = Supervisor([process], lambda _: process.start())
    pid = process.pid

    assert supervisor.look_after() == []
    assert process.pid == pid
    process.kill()
    assert supervisor.look_after() == ["server"]
    assert process.running


def test_a_process_that_keeps_ending_is_given_up_with_its_log(start):
    process = start("echo no such disk")
    supervisor = Supervisor([process], lambda _: process.start())

    for _ in range(5):
        await_end(process)
        assert supervisor.look_after() == ["server"]
    await_end(process)
    with pytest.raises(EmulatorError, match=r"(?s)server was started again 5 times.*no such disk"):
        supervisor.look_after()
