"""A running server as programs use it: addresses, accounts, files. Nothing here starts or ends a server."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from aiopravega.config import PravegaConfig
from aiopravega.errors import EmulatorError

ALL_RIGHTS = "prn::*,READ_UPDATE"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of a server with authentication.

    `acl` is one or more of Pravega's access rules, joined by `;`, for example
    `prn::/scope:examples,READ;prn::/scope:examples/stream:orders,READ_UPDATE`.
    """

    name: str
    password: str = field(repr=False)
    acl: str = ALL_RIGHTS


@dataclass(frozen=True, slots=True)
class PravegaServer:
    """A running server. `accounts` is empty without authentication; its first one may do everything."""

    VARIABLES: ClassVar = (
        "PRAVEGA_CONTROLLER_URI",
        "PRAVEGA_SCHEMA_REGISTRY_URI",
        "PRAVEGA_CA_FILE",
        "PRAVEGA_USERNAME",
        "PRAVEGA_PASSWORD",
        "PRAVEGA_TOKEN",
        "PRAVEGA_TOKEN_SOURCE",
    )

    controller_uri: str
    logs: Path
    schema_registry_uri: str | None = None
    ca_file: Path | None = None
    accounts: tuple[Account, ...] = ()

    @property
    def config(self) -> PravegaConfig:
        """The configuration of a client that may do everything."""
        return self._config(self.accounts[0] if self.accounts else None)

    def config_for(self, username: str) -> PravegaConfig:
        """The configuration of a client that uses this account.

        Raises:
            EmulatorError: the server has no such account.
        """
        return self._config(self._account(username))

    def _account(self, username: str) -> Account:
        for account in self.accounts:
            if account.name == username:
                return account
        names = ", ".join(account.name for account in self.accounts) or "none: start it with auth=True"
        raise EmulatorError(f"the emulator at {self.controller_uri} has no account {username!r}; it has {names}")

    def _config(self, account: Account | None) -> PravegaConfig:
        # Everything is said, so that nothing comes from the environment, which may speak of another server.
        return PravegaConfig(
            controller_uri=self.controller_uri,
            scope=None,
            username=account.name if account else None,
            password=account.password if account else None,
            token=None,
            token_source=None,
            ca_file=str(self.ca_file) if self.ca_file else None,
            verify_hostname=True,
        )

    def environment(self, username: str | None = None) -> dict[str, str]:
        """The environment variables from which `PravegaConfig()` and the Schema Registry client reach this server.

        Args:
            username: the account to use; by default the one that may do everything.

        Raises:
            EmulatorError: the server has no such account.
        """
        variables = {"PRAVEGA_CONTROLLER_URI": self.controller_uri}
        if self.schema_registry_uri:
            variables["PRAVEGA_SCHEMA_REGISTRY_URI"] = self.schema_registry_uri
        if self.ca_file:
            variables["PRAVEGA_CA_FILE"] = str(self.ca_file)
        if self.accounts:
            account = self._account(username or self.accounts[0].name)
            variables |= {"PRAVEGA_USERNAME": account.name, "PRAVEGA_PASSWORD": account.password}
        return variables

    def to_json(self) -> str:
        """A text for `from_json`. It holds the passwords: keep it where only the user can read it."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        values = json.loads(text)
        return cls(
            controller_uri=values["controller_uri"],
            logs=Path(values["logs"]),
            schema_registry_uri=values["schema_registry_uri"],
            ca_file=Path(values["ca_file"]) if values["ca_file"] else None,
            accounts=tuple(Account(**account) for account in values["accounts"]),
        )
