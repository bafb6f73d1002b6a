"""A job that writes the orders of a stream with errors beside, or replays the errors; it may be killed at a function.

The functions that count are those of any thread, as Python's profiler sees them: the code has no hooks for it.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

ORDERS, CLEAN, DEAD = "orders", "clean", "dead"
WRITE_ID = "orders of 2026-01-05"
# Poison events have their number under another name.
STRICT: dict[str, Any] = {"decode": "json", "columns": "id long", "missing_fields": "fail", "on_error": "dead"}
LAX = {"decode": "json", "columns": "oid long", "missing_fields": "fail"}


def die_at(function: str, call: str) -> None:
    """Have this process killed where a function of this qualified name is called for the first time, or a later one."""
    left = int(call)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event == "call" and frame.f_code.co_qualname == function:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(watch)
    sys.setprofile(watch)


def write(client: Any, scope: str) -> int:
    """Write the orders that can be decoded; returns the number of errors."""
    from pravega_jobs.frames import range_of, read_arrow, write_arrow

    rows = read_arrow(range_of(client, f"{scope}/{ORDERS}"), **STRICT)
    done = write_arrow(client, rows, f"{scope}/{CLEAN}", WRITE_ID, errors=f"stream:{scope}/{DEAD}", most_errors="1%")
    assert done.record.errors is not None
    return done.record.errors.rows


def replay(client: Any, scope: str) -> int:
    """Replay the errors; returns the number of rows that were added."""
    from aiopravega import StreamName
    from pravega_jobs.landing import WrittenStream
    from pravega_jobs.replays import replay_errors

    target = WrittenStream(StreamName(scope, CLEAN), client)
    return sum(each.rows for each in replay_errors(target, LAX, change=lambda rows: rows.rename_columns(["id"])))


def main(uri: str, scope: str, work: str, *step: str) -> None:
    """Write or replay."""
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient

    if step:
        die_at(*step)
    with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
        print({"write": write, "replay": replay}[work](client, scope))


if __name__ == "__main__":
    main(*sys.argv[1:])
