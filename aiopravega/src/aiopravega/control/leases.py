"""Leases of transactions: as long as requested, or as the controller allows; only an attempt shows what it allows."""

from uuid import UUID

from aiopravega.control.controller import Controller
from aiopravega.control.model import KeyRange, PingStatus
from aiopravega.errors import ConfigurationError, PravegaConnectionError, TransactionAbortedError, TransactionError
from aiopravega.names import StreamName

# The longest lease that Pravega grants by default and the shortest that it opens a transaction with, in seconds
# (`controller.transaction.lease.count.max` and `.min`).
LONGEST_LEASE = 600.0
SHORTEST_LEASE = 10.0
# A shorter lease is not tried: nobody could renew it in time.
_TOO_SHORT = SHORTEST_LEASE / 2
# The longest lease is found out to a tenth.
_PRECISION = 0.1
_TOO_LONG = frozenset({PingStatus.LEASE_TOO_LARGE, PingStatus.MAX_EXECUTION_TIME_EXCEEDED})


async def open_leased(controller: Controller, stream: StreamName, lease: float) -> tuple[UUID, list[KeyRange], float]:
    """Open a transaction with a lease of `lease` seconds, or the longest that the controller allows.

    Returns:
        Its id, its segments, and its lease in seconds.

    Raises:
        ConfigurationError: the lease is too short.
        StreamNotFoundError: the stream does not exist.
    """
    try:
        return *await controller.create_transaction(stream, int(lease * 1000)), lease
    except ConfigurationError:
        if lease <= SHORTEST_LEASE:
            raise
    txn_id, segments = await controller.create_transaction(stream, int(SHORTEST_LEASE * 1000))
    return txn_id, segments, await hold_transaction(controller, stream, txn_id, lease)


async def hold_transaction(
    controller: Controller, stream: StreamName, txn_id: UUID, longest: float = LONGEST_LEASE
) -> float:
    """Keep a transaction open for up to `longest` seconds, or as long as the server grants; returns the lease.

    Raises:
        TransactionAbortedError: it is aborted, or its lease has run out.
        TransactionError: it is committed, unknown, or has reached its longest life.
    """
    lease = min(longest, controller.longest_lease)
    granted, refused = 0.0, lease
    reasons: set[PingStatus] = set()
    while True:
        status = await controller.ping_transaction(stream, txn_id, int(lease * 1000))
        if status is PingStatus.OK:
            granted = lease
        elif status in _TOO_LONG:
            refused = lease
            reasons.add(status)
        else:
            raise _lost(stream, txn_id, status)
        if refused - granted <= granted * _PRECISION:
            if reasons == {PingStatus.LEASE_TOO_LARGE}:  # so it is for every transaction, whatever its age
                controller.longest_lease = granted
            return granted
        lease = (granted + refused) / 2
        if lease < _TOO_SHORT:
            raise _lost(stream, txn_id, status)


def _lost(stream: StreamName, txn_id: UUID, status: PingStatus) -> TransactionError | PravegaConnectionError:
    if status is PingStatus.ABORTED:
        return TransactionAbortedError(
            f"transaction {txn_id} of {stream} was aborted, or its lease ran out; no event of it is visible. "
            "Write it again."
        )
    if status is PingStatus.DISCONNECTED:
        return PravegaConnectionError(f"the controller cannot keep the lease of transaction {txn_id} now")
    return TransactionError(
        f"transaction {txn_id} of {stream} cannot be kept open: the controller answered {status.name}"
    )
