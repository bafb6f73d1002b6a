"""The sensor that waits until a transaction is committed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Context, PokeReturnValue

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.control import TransactionState
from aiopravega.errors import (
    ConfigurationError,
    StreamNotFoundError,
    TransactionAbortedError,
    TransactionError,
)
from aiopravega.loop import LoopThread
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.tasks.arguments import check_known
from airflow_pravega.triggers.transaction import PravegaTransactionTrigger


class PravegaTransactionSensor(LinkedToStream, PravegaWaitingSensor):
    """Waits until a transaction of a stream is committed, so that readers see its events.

    It fails at once if the transaction is aborted, by its owner or because its lease has run out, and if the
    controller does not know it: its id is wrong, or it ended so long ago that the controller has forgotten it. Returns
    `{"stream": name, "transaction": id, "state": "committed"}`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        transaction: id of the transaction, a UUID, as `Transaction.txn_id` has it. (templated)
        deferrable: wait on the triggerer, without a worker slot.
        pravega_conn_id: id of the connection. (templated)
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    template_fields: Sequence[str] = ("stream", "transaction", "pravega_conn_id")

    def __init__(self, *, stream: str, transaction: str, **kwargs: Any) -> None:
        super().__init__(stream=stream, **kwargs)
        check_known(transaction, _parse)
        self.transaction = transaction

    def check(self, context: Context) -> PokeReturnValue:
        """See `PravegaWaitingSensor`.

        Raises:
            AirflowFailException: the transaction is aborted or not known.
        """
        config = PravegaHook(self.pravega_conn_id).get_config()
        stream, transaction = StreamName.parse(self.stream, config.scope), _parse(self.transaction)
        self.link_to_stream(context, stream)
        try:
            state = LoopThread.shared().run(_state(config, stream, transaction))
        except TransactionError as error:
            # A write can be tried again with another transaction, but this sensor waits for this one.
            raise AirflowFailException(f"{type(error).__name__}: {error}") from error
        self.log.info("Transaction %s of %s is %s", transaction, stream, state.name.lower())
        if state is TransactionState.COMMITTED:
            result = {"stream": str(stream), "transaction": str(transaction), "state": state.name.lower()}
            return PokeReturnValue(True, result)
        if self.deferrable:
            self.wait_with(PravegaTransactionTrigger, stream, transaction=str(transaction))
        return PokeReturnValue(False)


async def _state(config: PravegaConfig, stream: StreamName, transaction: UUID) -> TransactionState:
    """The state of a transaction that is committed or may still be.

    Raises:
        TransactionAbortedError: the transaction is aborted.
        TransactionError: the controller does not know it.
        StreamNotFoundError: there is no such stream.
    """
    async with PravegaClient(config) as client:
        state = await client.attach_transaction(stream, transaction).state()
        match state:
            case TransactionState.ABORTING | TransactionState.ABORTED:
                raise TransactionAbortedError(
                    f"transaction {transaction} of {stream} is aborted, by its owner or because its lease ran out: its "
                    "events will never be seen"
                )
            case TransactionState.UNKNOWN:
                if not await client.stream_exists(stream):
                    raise StreamNotFoundError(f"cannot wait for transaction {transaction}: there is no stream {stream}")
                raise TransactionError(
                    f"the controller knows no transaction {transaction} of {stream}: its id or its stream is wrong, or "
                    "it ended so long ago that it is forgotten"
                )
        return state


def _parse(text: str) -> UUID:
    try:
        return UUID(text)
    except (ValueError, AttributeError, TypeError):
        raise ConfigurationError(f"transaction is {text!r}, but must be the id of a transaction, a UUID") from None
