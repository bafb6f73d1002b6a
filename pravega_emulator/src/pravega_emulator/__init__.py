"""A real Pravega on this machine: for tests, for examples and for trying things out.

`PravegaEmulator` runs Pravega standalone as a child process, `DurablePravega` a cluster that survives failures.
Importing this package starts and fetches nothing, and loads its parts when they are asked for: pytest imports it at
every start.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pravega_emulator.durable import DurablePravega
    from pravega_emulator.server import Account, PravegaServer
    from pravega_emulator.standalone import PravegaEmulator

__all__ = ["Account", "DurablePravega", "PravegaEmulator", "PravegaServer"]

_HOMES = {"Account": "server", "DurablePravega": "durable", "PravegaEmulator": "standalone", "PravegaServer": "server"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
