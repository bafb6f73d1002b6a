"""Choosing ports for listeners."""

import socket

from aiopravega.emulator.ports import free_ports, is_free


def test_the_ports_are_different_and_can_be_listened_on():
    ports = free_ports(20)

    assert len(set(ports)) == 20
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_somebody_listens_on_is_not_free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])
