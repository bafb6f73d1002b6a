"""Pravega for Python: an asyncio client with bounded reads, transactions, key-value tables and exact StreamCuts.

The blocking client has the same names: `aiopravega.blocking.PravegaClient`. Each name is imported when it is first
used (`aiopravega.lazy`).
"""

from typing import TYPE_CHECKING

from aiopravega import errors
from aiopravega.lazy import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "client": ("PravegaClient",),
        "config": ("PravegaConfig",),
        "control": ("RetentionPolicy", "ScalingPolicy", "StreamConfiguration", "TableConfiguration"),
        "cuts": ("UNBOUNDED", "SegmentRange", "StreamCut", "StreamCutRange"),
        "names": ("SegmentId", "StreamName"),
        "read": ("Event", "EventPointer"),
        "times": ("TimeUnit",),
    },
)
