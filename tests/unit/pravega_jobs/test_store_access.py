"""Access to object stores by a block of code: who uses it, what goes along to other processes, what is never shown."""

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from aiopravega.errors import ConfigurationError, TableUnavailableError
from pravega_jobs.identity.sinks import AccessedTable
from pravega_jobs.landing.delta_log import limits_of
from pravega_jobs.landing.iceberg_catalog import open_catalog
from pravega_jobs.landing.locations import store_location
from pravega_jobs.landing.store_access import StoreAccess, accessing, current_access
from pravega_jobs.landing.store_conditions import conditional

SECRET = "canary-of-a-store"
KEYS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": SECRET}
ENDPOINT = {"aws_endpoint_url": "http://127.0.0.1:1", "aws_region": "eu-west-1"}


def test_tables_and_files_of_a_block_have_its_access_and_others_do_not():
    access = StoreAccess.fixed(KEYS | ENDPOINT | {"aws_allow_http": "true"})
    with accessing(access), accessing(None):
        inside, limits = store_location("s3://lake/orders"), limits_of("s3://lake/orders")
    assert current_access() is None
    assert limits is not None
    assert limits.items() > {**KEYS, **ENDPOINT, "allow_http": "true"}.items()
    assert limits_of("/lake/orders") is None
    assert dict(limits_of("s3://lake/orders") or {}).keys().isdisjoint(KEYS)
    assert (inside.access, inside.child("data").access) == (access, access)
    assert store_location("s3://lake/orders").access is None


def test_keys_are_read_again_and_another_process_has_those_of_now():
    keys = [KEYS]
    with accessing(StoreAccess(lambda: keys[-1])):
        location = store_location("s3://lake/orders")
        keys.append(KEYS | {"aws_session_token": "second"})
        assert dict(limits_of("s3://lake/orders") or {})["aws_session_token"] == "second"
    sent = pickle.dumps(location)
    keys.append({})
    assert pickle.loads(sent).access.options() == KEYS | {"aws_session_token": "second"}
    assert pickle.loads(sent) == location
    assert SECRET not in f"{location} {location!r} {location.access!r} {location.child('a').access}"


def test_a_catalog_of_a_block_has_its_keys_and_no_token_of_others(tmp_path):
    own = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "s3.session-token": "of other keys"}
    with accessing(StoreAccess.fixed(KEYS | ENDPOINT)):
        found = open_catalog("lake", own).properties
    assert (
        found.items()
        >= {
            "s3.access-key-id": "AKIA",
            "s3.secret-access-key": SECRET,
            "s3.endpoint": "http://127.0.0.1:1",
            "client.access-key-id": "AKIA",
            "client.secret-access-key": SECRET,
            "client.region": "eu-west-1",
        }.items()
    )
    assert not any("token" in name for name in found)
    assert open_catalog("lake", own).properties["s3.session-token"] == "of other keys"


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        ({"uri": "sqlite://", "s3.region": ""}, None),
        (
            {"s3.endpoint": "https://store", "s3.access-key-id": "AKIA", "s3.secret-access-key": SECRET},
            {"aws_endpoint_url": "https://store"} | KEYS,
        ),
        ({"s3.session-token": "t", "s3.region": "eu-west-1"}, {"aws_session_token": "t", "aws_region": "eu-west-1"}),
    ],
)
def test_keys_that_a_catalog_gives_for_a_table_are_those_of_its_files(properties, options):
    access = StoreAccess.of_catalog(properties)
    assert (None if access is None else access.options()) == options


def test_a_table_that_is_asked_later_is_asked_by_its_access():
    access = StoreAccess.fixed(KEYS)
    one: Any = "a landing"

    class Asked:
        def held(self, landing):
            assert (landing, current_access()) == (one, access)

    assert AccessedTable(Asked(), access).held(one) is None
    assert current_access() is None


@pytest.mark.parametrize("option", ["aws_acces_key", "aws_timeout"])
def test_an_option_that_is_none_of_a_store_is_refused_by_name(option):
    with accessing(StoreAccess.fixed({option: SECRET})):
        location = store_location("s3://lake/orders")
    with pytest.raises(ConfigurationError, match=rf"options for s3://lake: .*{option}") as refused:
        location.get("note")
    assert SECRET not in str(refused.value)


def test_a_token_of_the_environment_is_not_sent_with_other_keys(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another account")
    with pytest.raises(ConfigurationError, match="the environment has AWS_SESSION_TOKEN"):
        StoreAccess.fixed(KEYS).options()
    assert StoreAccess.fixed(KEYS | {"aws_session_token": "own"}).options()["aws_session_token"] == "own"
    assert StoreAccess.fixed(ENDPOINT).options().keys() >= ENDPOINT.keys()


class _Empty(BaseHTTPRequestHandler):
    """A store that has nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *args: Any) -> None:
        """Say nothing about each request."""


@pytest.mark.parametrize(
    ("kind", "address"),
    [("AWS", "s3://{}/t"), ("GOOGLE", "gs://{}/t"), ("AZURE", "abfss://{}@account.dfs.core.windows.net/t")],
)
def test_each_kind_of_store_has_its_variable_for_plain_http(kind, address, tmp_path, monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), _Empty) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        key = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        (tmp_path / "key.json").write_text(json.dumps(key))
        for name, value in {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "AKIA",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AZURE_STORAGE_ENDPOINT": url,
            "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
            "GOOGLE_SERVICE_ACCOUNT": str(tmp_path / "key.json"),
        }.items():
            monkeypatch.setenv(name, value)
        try:
            monkeypatch.setenv(f"{kind}_ALLOW_HTTP", "true")
            assert store_location(address.format("plain")).get("note") is None
            monkeypatch.delenv(f"{kind}_ALLOW_HTTP")
            with pytest.raises(TableUnavailableError, match="builder error"):
                store_location(address.format("sealed")).get("note")
        finally:
            server.shutdown()


def test_a_store_that_is_told_to_know_no_conditions_is_refused():
    """No request is sent: the address has no server."""
    with (
        accessing(StoreAccess.fixed(KEYS | ENDPOINT | {"aws_conditional_put": "disabled"})),
        pytest.raises(
            ConfigurationError, match=r"s3://lake/orders: .*would lose one.*iceberg:namespace.table"
        ) as raised,
    ):
        conditional(store_location("s3://lake/orders"))
    assert SECRET not in str(raised.value)
