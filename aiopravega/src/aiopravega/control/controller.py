"""The controller of a Pravega cluster: all its calls in one object."""

from math import inf

from aiopravega.config import PravegaConfig
from aiopravega.control.rpc import Rpc
from aiopravega.control.scaling import ScalingCalls
from aiopravega.control.streams import ScopeCalls, StreamCalls
from aiopravega.control.subscribers import SubscriberCalls
from aiopravega.control.tables import TableCalls
from aiopravega.control.transactions import TransactionCalls


class Controller(ScopeCalls, StreamCalls, ScalingCalls, SubscriberCalls, TransactionCalls, TableCalls):
    """Calls to a controller. Every one has a time limit and is repeated while its failure can pass.

    It connects on the first call, and may be used from any event loop of the process that made that call.

    Raises, from every call:
        PravegaConnectionError: the controller could not be reached for as long as the configuration allows.
        SecurityError: TLS, the credentials or the rights do not allow it.
        ServerError: the controller failed.
    """

    def __init__(self, config: PravegaConfig) -> None:
        self._rpc = Rpc(config)
        # The longest lease known to be allowed, in seconds: the controller does not report it, but refuses longer ones.
        self.longest_lease = inf

    async def close(self) -> None:
        """End all calls and the connection; safe to repeat."""
        self._rpc.close()
