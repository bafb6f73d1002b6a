"""The accounts file of a server with authentication.

Source of the form: `StrongPasswordProcessor` and `PasswordAuthHandler` in Pravega's `shared/security` and
`shared/basic-authplugin`; a line is `name:HASH:rules`, the rules joined by `;`. An empty line makes the server fail.
"""

import hashlib
import secrets
from collections.abc import Sequence

from aiopravega.errors import ConfigurationError
from pravega_emulator.server import Account

_ITERATIONS = 5000
_SALT_BYTES = 32
_KEY_BYTES = 64
_SEPARATORS = frozenset(":;\r\n")


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
