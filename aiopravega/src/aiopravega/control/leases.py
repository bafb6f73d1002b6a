"""Leases of transactions that somebody else will finish."""

from uuid import UUID

from aiopravega.control.controller import Controller
from aiopravega.control.model import PingStatus
from aiopravega.errors import PravegaConnectionError, TransactionAbortedError, TransactionError
from aiopravega.names import StreamName

# The longest lease that Pravega grants by default and the shortest that it takes, in seconds
# (`controller.transaction.lease.count.max` and `.min`).
LONGEST_LEASE = 600.0
SHORTEST_LEASE = 10.0
_TOO_LONG = frozenset({PingStatus.LEASE_TOO_LARGE, PingStatus.MAX_EXECUTION_TIME_EXCEEDED})


async def hold_transaction(
    controller: Controller, stream: StreamName, txn_id: UUID, longest: float = LONGEST_LEASE
) -> float:
    """Keep a transaction open for up to `longest` seconds, or as long as the server grants; returns the lease.

    Raises:
        TransactionAbortedError: it is aborted, or its lease has run out.
        TransactionError: it is committed, unknown, or has reached its longest life.
    """
    lease = longest
    while True:
        status = await controller.ping_transaction(stream, txn_id, int(lease * 1000))
        if status is PingStatus.OK:
            return lease
        if status is PingStatus.ABORTED:
            raise TransactionAbortedError(
                f"transaction {txn_id} of {stream} was aborted, or its lease ran out; nothing of it is visible. "
                "Write it again."
            )
        if status is PingStatus.DISCONNECTED:
            raise PravegaConnectionError(f"the controller cannot keep the lease of transaction {txn_id} now")
        lease /= 2
        if status not in _TOO_LONG or lease < SHORTEST_LEASE:
            raise TransactionError(
                f"transaction {txn_id} of {stream} cannot be kept open: the controller answered {status.name}"
            )
