"""The data source `pravega` as the operators use it: its name and its connection options."""

from typing import Final

from pydantic import SecretStr

from aiopravega import PravegaConfig

FORMAT: Final = "pravega"


def connection_options(config: PravegaConfig) -> dict[str, str]:
    """The options of a read or a write that reach the cluster; passwords and tokens are among them: never log them."""
    options = {
        "controller": config.controller_uri,
        "verify_hostname": str(config.verify_hostname).lower(),
        "scope": config.scope,
        "username": config.username,
        "password": _reveal(config.password),
        "token": _reveal(config.token),
        "ca_file": config.ca_file,
    }
    return {name: value for name, value in options.items() if value is not None}


def _reveal(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
