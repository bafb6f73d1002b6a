"""Who writes a record of a ledger."""

import getpass
import socket


def myself() -> str:
    """Who this process is, for records that are not told: `user@host`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # containers run as users without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
