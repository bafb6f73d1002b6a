"""Pravega for Python: an asyncio client with bounded reads, transactions, key-value tables and exact StreamCuts.

The blocking client has the same names: `aiopravega.blocking.PravegaClient`.
"""

from aiopravega import errors
from aiopravega.client import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.control import RetentionPolicy, ScalingPolicy, StreamConfiguration, TableConfiguration
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCut, StreamCutRange
from aiopravega.names import SegmentId, StreamName
from aiopravega.read import Event, EventPointer
from aiopravega.times import TimeUnit

__all__ = [
    "UNBOUNDED",
    "Event",
    "EventPointer",
    "PravegaClient",
    "PravegaConfig",
    "RetentionPolicy",
    "ScalingPolicy",
    "SegmentId",
    "SegmentRange",
    "StreamConfiguration",
    "StreamCut",
    "StreamCutRange",
    "StreamName",
    "TableConfiguration",
    "TimeUnit",
    "errors",
]
