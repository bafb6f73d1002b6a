"""An emulator from its start to its end: what it refuses, reports and leaves. See `any_java` for the servers."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator import PravegaEmulator
from pravega_emulator.ports import PortLease

pytestmark = [pytest.mark.timeout(1500), pytest.mark.usefixtures("any_java")]


def small(**more: Any) -> PravegaEmulator:
    return PravegaEmulator(cache_megabytes=128, heap_megabytes=512, **more)


def test_its_files_live_as_long_as_it_does_and_it_starts_once():
    emulator = small()
    with pytest.raises(EmulatorError, match="does not run"):
        _ = emulator.config

    with emulator:
        logs = emulator.logs
        with pytest.raises(EmulatorError, match="runs already"):
            emulator.start()
        assert emulator.running
        emulator.check_running()

        emulator.kill()

        assert not emulator.running
        assert (logs / "pravega.log").exists()
        with pytest.raises(EmulatorError, match="ended by itself"):
            emulator.check_running()
    assert not logs.exists()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which a server of this test listens."""
    lease = PortLease()
    [port] = lease.take(1)
    with socket.create_server(("", port)):
        yield port
    lease.release()


def test_a_server_that_loses_its_ports_again_and_again_gives_up(taken: int):
    with pytest.raises(EmulatorError, match="ports taken 3 times") as caught:
        small(settings={"singlenode.zk.port": str(taken)}).start()

    logs = re.search(r"see (\S+)", str(caught.value))
    assert logs is not None
    assert (Path(logs[1]) / "pravega.log").read_text().count("Address already in use") >= 3


def test_a_port_that_is_taken_is_named_if_it_was_asked_for(taken: int):
    with pytest.raises(EmulatorError, match=f"port {taken}"):
        small(port=taken).start()
