"""Accounts and certificates: checked with Python's own TLS and hashing."""

import hashlib
import socket
import ssl
import threading

import pytest

from aiopravega.errors import ConfigurationError
from pravega_emulator import Account
from pravega_emulator.certificates import make_certificates
from pravega_emulator.security import Security, accounts_text


def test_an_account_is_a_line_with_a_salted_hash_and_its_rules():
    [line] = accounts_text([Account("reader", "password", "prn::/,READ;prn::/scope:a,READ")]).splitlines()
    name, encoded, rules = line.split(":", 2)
    iterations, salt, key = bytes.fromhex(encoded).decode().split(":")

    assert name == "reader"
    assert rules == "prn::/,READ;prn::/scope:a,READ"
    assert hashlib.pbkdf2_hmac("sha256", b"password", bytes.fromhex(salt), int(iterations), 64).hex() == key


def test_the_same_password_never_has_the_same_hash():
    lines = accounts_text([Account("a", "password"), Account("b", "password")]).splitlines()

    assert lines[0].split(":")[1] != lines[1].split(":")[1]


@pytest.mark.parametrize("name", ["", "a:b", "a;b", "a\nb"])
def test_a_name_that_the_file_cannot_hold_is_refused(name):
    with pytest.raises(ConfigurationError, match="name of its own"):
        accounts_text([Account(name, "password")])


def test_two_accounts_of_one_name_are_refused():
    with pytest.raises(ConfigurationError, match="'a'"):
        accounts_text([Account("a", "1"), Account("a", "2")])


def test_an_admin_is_added_unless_there_is_one(tmp_path):
    added = Security.make(tmp_path / "1", tls=False, auth=True, accounts=[Account("reader", "pw")])
    given = Security.make(tmp_path / "2", tls=False, auth=True, accounts=[Account("r", "pw"), Account("admin", "mine")])

    assert [account.name for account in added.accounts] == ["admin", "reader"]
    assert [(account.name, account.password) for account in given.accounts] == [("admin", "mine"), ("r", "pw")]
    assert added.accounts_file is not None
    assert added.accounts_file.stat().st_mode & 0o077 == 0


def test_accounts_without_authentication_are_a_mistake(tmp_path):
    with pytest.raises(ConfigurationError, match="auth=True"):
        Security.make(tmp_path, tls=False, auth=False, accounts=[Account("reader", "pw")])


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def shake_hands(certificates, client: ssl.SSLContext, name: str) -> None:
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificates.chain, certificates.key)
    left, right = socket.socketpair()

    def serve() -> None:
        try:
            with server_context.wrap_socket(left, server_side=True) as wrapped:
                wrapped.recv(1)
        except OSError:  # what the client did not like, the client says
            left.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with right, client.wrap_socket(right, server_hostname=name) as wrapped:
            wrapped.send(b"x")
    finally:
        thread.join()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_accepts_the_server(certificates, name):
    shake_hands(certificates, ssl.create_default_context(cafile=certificates.ca), name)


def test_another_name_and_another_authority_are_refused(certificates):
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(certificates, ssl.create_default_context(cafile=certificates.ca), "elsewhere")
    with pytest.raises(ssl.SSLCertVerificationError, match=r"unable to get local issuer|self-signed"):
        shake_hands(certificates, ssl.create_default_context(), "localhost")


def test_the_private_key_is_for_the_user_alone(certificates):
    assert certificates.key.stat().st_mode & 0o077 == 0
    assert certificates.key_store.stat().st_mode & 0o077 == 0
