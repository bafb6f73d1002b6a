"""The test of a connection with accounts that have few rights, on a server with TLS and accounts."""

import asyncio

import pytest

from aiopravega import PravegaClient
from airflow_pravega.hooks.pravega import PravegaHook
from pravega_emulator import Account, PravegaEmulator

pytestmark = pytest.mark.xdist_group("rights")

READS = "prn::/scope:shop/stream:orders,READ"
# Each account has the rights of a use in docs/how-to/operate.md.
RIGHTS = {
    "lister": f"prn::/scope:shop,READ;{READS}",
    "taker": f"{READS};prn::/scope:shop/key-value-table:cut-ledger,READ_UPDATE;"
    "prn::/scope:shop/stream:cut-ledger_kvtable,READ_UPDATE",
    "reader": READS,
}


@pytest.fixture(scope="module")
def server():
    accounts = [Account("admin", "of-the-admin"), *(Account(name, f"of-{name}", RIGHTS[name]) for name in RIGHTS)]
    with PravegaEmulator(tls=True, auth=True, accounts=accounts) as running:
        asyncio.run(_fill(running))
        yield running


async def _fill(running: PravegaEmulator) -> None:
    async with PravegaClient(running.config) as admin:
        await admin.create_scope("shop")
        await admin.create_stream("shop/orders")
        await admin.cut_ledger("shop").create()


@pytest.fixture
def tried(server, connection_json, monkeypatch):
    """The result of the test of a connection of an account."""

    def tried(account: str, password: str | None = None, **extra: str) -> tuple[bool, str]:
        config = server.config_for(account)
        if password is not None:
            config = config.model_copy(update={"password": type(config.password)(password)})
        monkeypatch.setenv("AIRFLOW_CONN_TRIED", connection_json(config, **extra))
        return PravegaHook("tried").test_connection()

    return tried


@pytest.mark.parametrize(
    ("account", "says"),
    [
        ("lister", ("Scope 'shop' shows 1 streams.", "The segment stores of stream shop/orders answer.")),
        ("taker", ("may not list the streams of scope 'shop'", "It may read the cut ledger shop/cut-ledger")),
        ("reader", ("may not list the streams of scope 'shop'", "No segment store was asked")),
    ],
)
def test_an_account_with_few_rights_works_in_its_scope(tried, account, says):
    works, text = tried(account, scope="shop")
    assert works
    assert "accepts the account" in text
    for part in says:
        assert part in text


def test_an_account_that_may_not_list_scopes_is_told_to_name_one(tried):
    works, text = tried("reader")
    assert works
    assert "name its scope in the connection's extra `scope`" in text


def test_a_wrong_password_fails_and_is_not_in_the_text(tried):
    works, text = tried("reader", "not-of-reader", scope="shop")
    assert not works
    assert "AuthenticationError" in text
    assert "not-of-reader" not in text
