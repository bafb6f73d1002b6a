"""The controller: scopes, streams, segments, transactions and tables, over gRPC."""

import os

# Before gRPC is loaded: since its release 1.81, a process that has a channel often kills the children that it starts
# (grpc/grpc#43055), such as Spark's Java gateway. It polls another way without that, and lets forked workers continue.
os.environ.setdefault("GRPC_POLL_STRATEGY", "poll")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")
# Otherwise each child logs that it shares its parent's connections, as it is meant to.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

from aiopravega.control.amend import RESERVED_TAG, amend_stream, delete_empty_scope, reserved
from aiopravega.control.controller import Controller
from aiopravega.control.leases import LONGEST_LEASE, hold_transaction, open_leased
from aiopravega.control.model import Access, KeyRange, PingStatus, Successor, TableConfiguration, TransactionState
from aiopravega.control.policies import RetentionPolicy, ScalingPolicy, StreamConfiguration
from aiopravega.control.reader_groups import GroupRetention, ReaderGroupConfig
from aiopravega.control.subscribers import ReaderGroup

__all__ = [
    "LONGEST_LEASE",
    "RESERVED_TAG",
    "Access",
    "Controller",
    "GroupRetention",
    "KeyRange",
    "PingStatus",
    "ReaderGroup",
    "ReaderGroupConfig",
    "RetentionPolicy",
    "ScalingPolicy",
    "StreamConfiguration",
    "Successor",
    "TableConfiguration",
    "TransactionState",
    "amend_stream",
    "delete_empty_scope",
    "hold_transaction",
    "open_leased",
    "reserved",
]
