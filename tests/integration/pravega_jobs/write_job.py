"""Writes of frames in processes that may be killed at a request, as `tests.faults.steps` plans it.

Run as a program, it writes once for each line of its input, a stream, or also an errors stream, or `replay`: then it
replays the errors of the stream. Each time it is in a fork of its own: libraries are imported once, and no fork has
threads of gRPC before it writes.
"""

import os
import signal
import sys
import traceback
from typing import Any

from tests.faults.steps import VARIABLE, count

WRITE_ID = "sums of 2026-01-05"
# Some rows of each key, so that both segments of a stream get some.
ROWS = [
    {"city": city, "rides": number, "routing_key": city} for number in range(6) for city in ("Oslo", "Rome", "Bari")
]
REPLAY = "replay"
# Options that let an order pass that lacks its id.
LAX = {"decode": "json", "columns": "id long, other int"}
# Events that were no rows.
BAD = [b"no json", b"\xff"]


def named(rows: Any) -> Any:
    """Rows of orders from events that name their id otherwise."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.table({"id": pc.coalesce(rows["id"], rows["other"])})


def rows_and_errors() -> Any:
    """The rows, and an error for each bad event."""
    import pyarrow as pa

    from pravega_jobs.error_rows import ERROR_TYPE

    errors = [
        {"event": event, "pointer": f"shop/rides/0.#epoch.0:{at}-{len(event) + 8}", "reason": "odd"}
        for at, event in enumerate(BAD)
    ]
    rows = pa.Table.from_pylist([*ROWS, *({"city": None} for _ in BAD)])
    return rows.append_column("_error", pa.array([*(None for _ in ROWS), *errors], ERROR_TYPE))


def main(uri: str, steps: str) -> None:
    os.environ[VARIABLE] = steps
    count()  # before the modules are imported whose requests it counts
    import pyarrow as pa

    from aiopravega import PravegaConfig, StreamName
    from aiopravega.blocking import PravegaClient
    from pravega_jobs.frames import write_arrow
    from pravega_jobs.landing import WrittenStream
    from pravega_jobs.replays import replay_errors

    def write(stream: str, errors: str | None = None) -> None:
        if errors == REPLAY:
            with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
                replay_errors(WrittenStream(StreamName.parse(stream), client), LAX, change=named)
            return
        rows = pa.Table.from_pylist(ROWS) if errors is None else rows_and_errors()
        with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
            write_arrow(client, rows.to_reader(max_chunksize=5), stream, WRITE_ID, errors=errors)

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                write(*line.split())
            except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), "the write has failed"
        print(status == -signal.SIGKILL, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
