from airflow.sdk import Connection

from aiopravega import PravegaConfig
from airflow_pravega.hooks.pravega import PravegaHook


def test_a_connection_that_works_says_so(pravega_config: PravegaConfig):
    works, text = PravegaHook().test_connection()
    assert works
    assert pravega_config.controller_uri in text


def test_a_server_that_is_not_there_is_said_soon(nobody):
    works, text = PravegaHook(nobody).test_connection()
    assert not works
    assert "PravegaConnectionError" in text


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
