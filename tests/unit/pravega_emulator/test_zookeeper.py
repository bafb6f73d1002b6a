"""What a ZooKeeper that answers reports about itself and bookies, over a real socket with answers of a real one."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pravega_emulator.probe import bookie_problem, old_bookie_problem, zookeeper_problem

BOOKIE = 24143
STARTING = "This ZooKeeper instance is not currently serving requests\n"
EMPTY = (
    "SessionTracker dump:\nSession Sets (0)/(0):\nephemeral nodes dump:\nSessions with Ephemerals (0):\n"
    "Connections dump:\nConnections Sets (0)/(0):\n"
)
REGISTERED = EMPTY.replace(
    "Ephemerals (0):\n", f"Ephemerals (1):\n0x100028228e60008:\n\t/ledgers/available/127.0.0.1:{BOOKIE}\n"
)


@pytest.fixture
def answering() -> Iterator[Callable[[str], int]]:
    """Starts a server that gives one answer to each question; returns its port."""
    with ExitStack() as servers:

        def start(answer: str) -> int:
            class Handler(socketserver.BaseRequestHandler):
                def handle(self) -> None:
                    self.request.recv(4)
                    self.request.sendall(answer.encode())

            server = servers.enter_context(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler))
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
            return server.server_address[1]

        yield start


def test_a_zookeeper_that_reads_its_data_is_not_ready_for_a_bookie(answering):
    port = answering(STARTING)

    assert "not currently serving" in (zookeeper_problem(port) or "")
    assert "not currently serving" in (old_bookie_problem(port, BOOKIE) or "")
    assert bookie_problem(port, BOOKIE) is not None


def test_a_zookeeper_that_serves_is_ready(answering):
    assert zookeeper_problem(answering("Zookeeper version: 3.6.3\nMode: standalone\nNode count: 5\n")) is None


def test_an_entry_of_a_bookie_is_found_by_its_port(answering):
    port = answering(REGISTERED)

    assert bookie_problem(port, BOOKIE) is None
    assert "still has" in (old_bookie_problem(port, BOOKIE) or "")
    assert bookie_problem(port, BOOKIE // 10) is not None
    assert old_bookie_problem(port, BOOKIE // 10) is None


def test_without_an_entry_a_bookie_may_start(answering):
    port = answering(EMPTY)

    assert old_bookie_problem(port, BOOKIE) is None
    assert bookie_problem(port, BOOKIE) is not None


def test_a_server_that_does_not_answer_is_named_by_its_port():
    for problem in (zookeeper_problem(1), bookie_problem(1, BOOKIE), old_bookie_problem(1, BOOKIE)):
        assert "does not answer on port 1" in (problem or "")
