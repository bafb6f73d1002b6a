"""The controller's calls about transactions."""

from uuid import UUID

from aiopravega.control.convert import key_ranges, stream_info, txn_id, uuid_of
from aiopravega.control.model import KeyRange, PingStatus, TransactionState
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import refusal, status_name, succeeded
from aiopravega.errors import PravegaError, TransactionAbortedError, TransactionError
from aiopravega.names import StreamName

# Java's Long.MIN_VALUE: how Pravega's own client says that a commit notes no time.
_NO_TIME = -(2**63)


class TransactionCalls:
    """Part of `Controller`. Leases are in milliseconds; Pravega takes 10,000 to 600,000 by default."""

    _rpc: Rpc

    async def create_transaction(self, stream: StreamName, lease_ms: int) -> tuple[UUID, list[KeyRange]]:
        """Open a transaction; returns its id and the segments to write to, in the order of the key space.

        Repeated after a lost answer, it leaves an empty transaction behind that ends with its lease.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        answer = await self._rpc.call(
            "createTransaction",
            pb.CreateTxnRequest(streamInfo=stream_info(stream), lease=lease_ms),
            pb.CreateTxnResponse,
            f"open a transaction with a lease of {lease_ms} ms on stream {stream}",
        )
        return uuid_of(answer.txnId), key_ranges(stream, answer.activeSegments)

    async def ping_transaction(self, stream: StreamName, txn: UUID, lease_ms: int) -> PingStatus:
        """Extend a transaction's lease to `lease_ms` from now; a lease of 0 aborts it."""
        answer = await self._rpc.call(
            "pingTransaction",
            pb.PingTxnRequest(streamInfo=stream_info(stream), txnId=txn_id(txn), lease=lease_ms),
            pb.PingTxnStatus,
            f"keep transaction {txn} of stream {stream} open",
        )
        return PingStatus(status_name(pb.PingTxnStatus.Status, answer.status))

    async def commit_transaction(
        self, stream: StreamName, txn: UUID, writer_id: str = "", timestamp: int | None = None
    ) -> None:
        """Decide that a transaction's events will be seen; safe to repeat. They are when its state is COMMITTED.

        With `writer_id` and `timestamp` it also notes how far the writer is in event time.

        Raises:
            TransactionAbortedError: it is aborted, or its lease ran out.
            TransactionError: it is not known.
            StreamNotFoundError: the stream does not exist.
        """
        what = f"commit transaction {txn} of stream {stream}"
        request = pb.TxnRequest(
            streamInfo=stream_info(stream),
            txnId=txn_id(txn),
            writerId=writer_id,
            timestamp=_NO_TIME if timestamp is None else timestamp,
        )
        answer = await self._rpc.call("commitTransaction", request, pb.TxnStatus, what)
        if answer.status == pb.TxnStatus.FAILURE:
            raise await self._cannot(what, stream, txn)
        succeeded(pb.TxnStatus.Status, answer.status, what)

    async def abort_transaction(self, stream: StreamName, txn: UUID) -> None:
        """Decide that a transaction's events will never be seen; safe to repeat.

        Raises:
            TransactionError: it is committed, or not known.
            StreamNotFoundError: the stream does not exist.
        """
        what = f"abort transaction {txn} of stream {stream}"
        request = pb.TxnRequest(streamInfo=stream_info(stream), txnId=txn_id(txn))
        answer = await self._rpc.call("abortTransaction", request, pb.TxnStatus, what)
        if answer.status == pb.TxnStatus.FAILURE:
            raise await self._cannot(what, stream, txn)
        succeeded(pb.TxnStatus.Status, answer.status, what)

    async def transaction_state(self, stream: StreamName, txn: UUID) -> TransactionState:
        """The state of a transaction."""
        answer = await self._rpc.call(
            "checkTransactionState",
            pb.TxnRequest(streamInfo=stream_info(stream), txnId=txn_id(txn)),
            pb.TxnState,
            f"read the state of transaction {txn} of stream {stream}",
        )
        return TransactionState(status_name(pb.TxnState.State, answer.state))

    async def _cannot(self, what: str, stream: StreamName, txn: UUID) -> PravegaError:
        """Why the controller answered a plain FAILURE: it does not say, but the transaction's state does."""
        state = await self.transaction_state(stream, txn)
        if state in (TransactionState.ABORTING, TransactionState.ABORTED):
            return TransactionAbortedError(f"cannot {what}: it was aborted, or its lease ran out. Write it again.")
        if state is TransactionState.UNKNOWN:
            return TransactionError(
                f"cannot {what}: the controller does not know it; its id is wrong, or it ended days ago"
            )
        if state is TransactionState.OPEN:
            return refusal("FAILURE", what)
        return TransactionError(f"cannot {what}: it is {state.name}")
