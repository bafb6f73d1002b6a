"""Pravega for Python: an asyncio client with bounded reads, transactions, key-value tables and exact StreamCuts.

The blocking client has the same names: `aiopravega.blocking.PravegaClient`. Each name is imported when it is first
used: Spark starts many processes that need a few modules only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from aiopravega import errors

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

_HOMES: Final = {
    "client": ("PravegaClient",),
    "config": ("PravegaConfig",),
    "control": ("RetentionPolicy", "ScalingPolicy", "StreamConfiguration", "TableConfiguration"),
    "cuts": ("UNBOUNDED", "SegmentRange", "StreamCut", "StreamCutRange"),
    "names": ("SegmentId", "StreamName"),
    "read": ("Event", "EventPointer"),
    "times": ("TimeUnit",),
}
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"aiopravega.{_HOME_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
