"""The author of a ledger's record."""

import getpass
import socket


def myself() -> str:
    """The default author of a record: `user@host` of this process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # containers run as users without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
