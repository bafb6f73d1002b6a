import asyncio
import errno
import socket

import pytest
from airflow.sdk import Connection

from aiopravega import PravegaConfig
from airflow_pravega.hooks.pravega import PravegaHook


@pytest.fixture
def connection(monkeypatch, pravega_config, connection_json):
    """Makes a connection with these extras; its id."""

    def connection(**extra) -> str:
        monkeypatch.setenv("AIRFLOW_CONN_TRIED", connection_json(pravega_config, **extra))
        return "tried"

    return connection


def test_a_connection_that_works_says_so_of_each_part(pravega_config, pravega_emulator, connection, stream):
    tried = connection(scope=stream.scope, schema_registry_uri=pravega_emulator.schema_registry_uri)
    works, text = PravegaHook(tried).test_connection()
    assert works
    assert f"controller at {pravega_config.controller_uri}" in text
    assert f"The segment stores of stream {stream} answer." in text
    assert f"The Schema Registry at {pravega_emulator.schema_registry_uri} answers." in text


@pytest.mark.usefixtures("stream")
def test_a_connection_without_a_default_scope_finds_a_stream_itself():
    works, text = PravegaHook().test_connection()
    assert works
    assert "The segment stores of stream" in text


def test_a_scope_without_streams_says_that_no_segment_store_was_asked(connection, scope):
    works, text = PravegaHook(connection(scope=scope)).test_connection()
    assert works
    assert "No segment store was asked" in text


def test_a_segment_store_that_cannot_be_reached_is_named(connection, stream, monkeypatch):
    async def refused(*_, **__):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    # The controller is called by gRPC, which has sockets of its own.
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", refused)
    works, text = PravegaHook(connection(scope=stream.scope)).test_connection()
    assert not works
    assert "The controller at" in text
    assert f"But a segment store of stream {stream} fails: PravegaConnectionError" in text


def test_a_registry_that_is_not_there_is_named(connection, stream):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{unused.getsockname()[1]}"
        works, text = PravegaHook(connection(scope=stream.scope, schema_registry_uri=uri)).test_connection()
    assert not works
    assert text.startswith(f"The Schema Registry at {uri} fails:")


def test_a_server_that_is_not_there_is_said_soon(nobody):
    works, text = PravegaHook(nobody).test_connection()
    assert not works
    assert text.startswith("The controller at tcp://127.0.0.1:")
    # Within the time limit of the connection, which is a second: a slow machine may need it for the refusal.
    assert "fails: PravegaConnectionError" in text or "fails: PravegaTimeoutError" in text


def test_a_scope_that_does_not_exist_is_a_failure_with_its_name(connection):
    works, text = PravegaHook(connection(scope="nowhere")).test_connection()
    assert not works
    assert "there is no scope 'nowhere': make it, or mend the connection's extra `scope`" in text


def test_a_connection_that_cannot_work_is_said(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_HOSTLESS", '{"conn_type": "pravega"}')
    assert PravegaHook("hostless").test_connection() == (
        False,
        "ConfigurationError: connection 'hostless': it has no host: give the controller's",
    )


def test_airflow_itself_can_test_the_connection(pravega_config: PravegaConfig):
    host, port = pravega_config.controller_target.split(":")
    works, _ = Connection(conn_id="unsaved", conn_type="pravega", host=host, port=int(port)).test_connection()
    assert works


def test_the_client_works(scope: str):
    with PravegaHook().get_client() as client:
        assert scope in client.list_scopes()
