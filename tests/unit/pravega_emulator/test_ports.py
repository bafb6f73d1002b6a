"""Choosing ports for listeners."""

import socket

import pytest

from pravega_emulator.ports import PortLease, is_free


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PRAVEGA_EMULATOR_CACHE", str(tmp_path))


@pytest.fixture
def lease():
    lease = PortLease()
    yield lease
    lease.release()


def test_the_ports_are_different_and_can_be_listened_on(lease):
    ports = lease.take(20)

    assert len(set(ports)) == 20
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_somebody_listens_on_is_not_taken(lease):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        assert not is_free(port)
        assert not lease.claim(port)


def test_a_port_of_another_emulator_is_not_taken_until_it_is_released(lease):
    other = PortLease()
    [port] = other.take(1)
    assert is_free(port)

    assert not lease.claim(port)
    other.release()

    assert lease.claim(port)
