"""The trigger of the sensor for transactions: waits until one is decided."""

from typing import Any, Final
from uuid import UUID

from aiopravega import PravegaClient, StreamName
from aiopravega.control import TransactionState
from airflow_pravega.polling import Answer, PolledValue, StateOfTransaction
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger

_UNDECIDED: Final = (TransactionState.OPEN, TransactionState.COMMITTING)


class PravegaTransactionTrigger(PravegaWaitingTrigger):
    """Fires once, when a transaction is committed, aborted, or not known: `{"status": "decided", "state": name}`.

    Args:
        stream: `scope/stream`.
        transaction: id of the transaction, a UUID.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = ("transaction",)

    def __init__(self, *, transaction: str, **waiting: Any) -> None:
        super().__init__(**waiting)
        self.transaction = transaction

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        return StateOfTransaction(StreamName.parse(self.stream, scope), UUID(self.transaction))

    async def check(self, client: PravegaClient, answer: Answer[TransactionState]) -> dict[str, Any] | None:
        state = answer.value
        return None if state in _UNDECIDED else {"status": "decided", "state": state.name.lower()}
