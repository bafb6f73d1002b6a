"""A real Pravega on this machine: for tests, for examples and for trying things out.

`PravegaEmulator` runs Pravega standalone as a child process. Importing this package starts and fetches nothing.
"""

from aiopravega.emulator.server import Account, PravegaServer
from aiopravega.emulator.standalone import PravegaEmulator

__all__ = ["Account", "PravegaEmulator", "PravegaServer"]
