"""The controller: scopes, streams, segments, transactions and tables, over gRPC."""

from aiopravega.control.controller import Controller
from aiopravega.control.leases import hold_transaction
from aiopravega.control.model import Access, KeyRange, PingStatus, Successor, TransactionState
from aiopravega.control.policies import RetentionPolicy, ScalingPolicy, StreamConfiguration

__all__ = [
    "Access",
    "Controller",
    "KeyRange",
    "PingStatus",
    "RetentionPolicy",
    "ScalingPolicy",
    "StreamConfiguration",
    "Successor",
    "TransactionState",
    "hold_transaction",
]
