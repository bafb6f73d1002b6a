"""The replay sandbox: recorded intervals run through other code, and the result compared with what was written then.

Each name is imported when it is first used: commands and hosts name the sandbox without Arrow and DuckDB.
"""

from typing import TYPE_CHECKING

from aiopravega.lazy import lazy_names

if TYPE_CHECKING:
    from pravega_jobs.sandbox.loading import LoadedInterval, load
    from pravega_jobs.sandbox.replaying import replay
    from pravega_jobs.sandbox.result import ColumnChanges, KindsOfValues, ReplayedInterval, ReplayResult

__all__ = [
    "ColumnChanges",
    "KindsOfValues",
    "LoadedInterval",
    "ReplayResult",
    "ReplayedInterval",
    "load",
    "replay",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "loading": ("LoadedInterval", "load"),
        "replaying": ("replay",),
        "result": ("ColumnChanges", "KindsOfValues", "ReplayResult", "ReplayedInterval"),
    },
)
