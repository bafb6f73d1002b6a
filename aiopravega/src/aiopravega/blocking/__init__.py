"""The client for programs that do not use asyncio: the same names as `aiopravega.client`, without await.

Every call runs on a shared event loop in a thread of its own and waits for the result. A client belongs to the
process that made it.
"""

from aiopravega.blocking.client import PravegaClient
from aiopravega.blocking.follow import Follower
from aiopravega.blocking.ledger import CommitLedger, CommitProtocol, CutLedger, KeyValueTable, LeaseKeeper
from aiopravega.blocking.writes import EventWriter, Transaction, TransactionHandle

__all__ = [
    "CommitLedger",
    "CommitProtocol",
    "CutLedger",
    "EventWriter",
    "Follower",
    "KeyValueTable",
    "LeaseKeeper",
    "PravegaClient",
    "Transaction",
    "TransactionHandle",
]
