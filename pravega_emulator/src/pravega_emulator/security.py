"""Certificates and accounts of one server: the files, and the settings of the server and its clients for them.

The form of the accounts file is from `StrongPasswordProcessor` and `PasswordAuthHandler` in Pravega's `shared/security`
and `shared/basic-authplugin`; a line is `name:HASH:rules`, the rules joined by `;`. An empty line fails the server.
"""

import base64
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiopravega.errors import ConfigurationError
from pravega_emulator.certificates import HOST, Certificates, make_certificates
from pravega_emulator.server import Account

ADMIN = "admin"
_LOOPBACK = "127.0.0.1"
_ITERATIONS = 5000
_SALT_BYTES = 32
_KEY_BYTES = 64
_SEPARATORS = frozenset(":;\r\n")


@dataclass(frozen=True, slots=True)
class Security:
    """Certificates and accounts of a server; `accounts` is empty, or begins with one that may do everything."""

    certificates: Certificates | None
    accounts: tuple[Account, ...]
    accounts_file: Path | None

    @classmethod
    def make(cls, folder: Path, *, tls: bool, auth: bool, accounts: Sequence[Account]) -> "Security":
        """Write the requested certificates and accounts into `folder`.

        Without an account named `admin` among `accounts`, one with a random password is added.

        Raises:
            ConfigurationError: accounts without `auth`, or accounts that the server would refuse.
        """
        if accounts and not auth:
            raise ConfigurationError("accounts were given, but authentication is off: give auth=True as well")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificates = make_certificates(folder) if tls else None
        if not auth:
            return cls(certificates, (), None)
        admin = [account for account in accounts if account.name == ADMIN] or [
            Account(ADMIN, secrets.token_urlsafe(16))
        ]
        everyone = (*admin, *(account for account in accounts if account.name != ADMIN))
        file = folder / "accounts"
        file.touch(mode=0o600)
        file.write_text(accounts_text(everyone), encoding="utf-8")
        return cls(certificates, everyone, file)

    @property
    def host(self) -> str:
        """The server's own name: that of its certificate, or an address, so that plain clients resolve no name."""
        return HOST if self.certificates else _LOOPBACK

    @property
    def ca_file(self) -> Path | None:
        """The PEM file that clients trust."""
        return self.certificates.ca if self.certificates else None

    def controller_uri(self, port: int) -> str:
        """The URI of a controller at this port."""
        return f"{'tls' if self.certificates else 'tcp'}://{self.host}:{port}"

    def client_environment(self) -> dict[str, str]:
        """The environment by which a server that calls another one as a Java client gets its credentials."""
        if not self.accounts:
            return {}
        return {
            "pravega_client_auth_loadDynamic": "false",
            "pravega_client_auth_method": "Basic",
            "pravega_client_auth_token": self.admin_token(),
        }

    def admin_token(self) -> str:
        """Name and password of the account that may do everything, as Basic authentication wants them."""
        admin = self.accounts[0]
        return base64.b64encode(f"{admin.name}:{admin.password}".encode()).decode()

    def standalone_settings(self) -> dict[str, str]:
        """The settings of Pravega standalone (source: `SingleNodeConfig` in Pravega's `standalone`)."""
        settings: dict[str, str] = {}
        if files := self.certificates:
            settings |= {
                "singlenode.security.tls.enable": "true",
                "singlenode.security.tls.privateKey.location": str(files.key),
                "singlenode.security.tls.certificate.location": str(files.chain),
                "singlenode.security.tls.keyStore.location": str(files.key_store),
                "singlenode.security.tls.keyStore.pwd.location": str(files.password_file),
                "singlenode.security.tls.trustStore.location": str(files.trust_store),
            }
        if self.accounts:
            settings |= {
                "singlenode.security.auth.enable": "true",
                # Pravega's own parts use these to call each other.
                "singlenode.security.auth.credentials.username": self.accounts[0].name,
                "singlenode.security.auth.credentials.pwd": self.accounts[0].password,
                "singlenode.security.auth.pwdAuthHandler.accountsDb.location": str(self.accounts_file),
            }
        return settings


def accounts_text(accounts: Sequence[Account]) -> str:
    """The content of the accounts file.

    Raises:
        ConfigurationError: two accounts of one name, or a name that the file cannot hold.
    """
    names = [account.name for account in accounts]
    for name in names:
        if not name or _SEPARATORS & set(name) or names.count(name) > 1:
            raise ConfigurationError(f"account {name!r}: give every account a name of its own, without ':' and ';'")
    return "".join(f"{account.name}:{_hash(account.password)}:{account.acl}\n" for account in accounts)


def _hash(password: str) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS, _KEY_BYTES)
    return f"{_ITERATIONS}:{salt.hex()}:{key.hex()}".encode().hex()
