"""Writes into three streams, in forks that may be killed; see `sink_kills`."""

import os
import random
import sys
import traceback
from typing import TYPE_CHECKING

from tests.faults.steps import VARIABLE, count

if TYPE_CHECKING:
    from aiopravega.blocking import PravegaClient

SCOPE = "kills"
STREAMS = ("errors", "late", "rides")
KEYS = 3


def events_of(write: str, stream: str) -> list[dict[str, object]]:
    """The events of a write in a stream: some, and other ones in each stream."""
    some = random.Random(f"{write} {stream}").randrange(1, 3 * KEYS)
    return [{"write": write, "of": stream, "row": row, "routing_key": str(row % KEYS)} for row in range(some)]


def write(client: "PravegaClient", name: str) -> None:
    """Write, as a job does."""
    import pyarrow as pa

    from pravega_jobs.frames import write_streams

    rows = {f"{SCOPE}/{stream}": pa.Table.from_pylist(events_of(name, stream)) for stream in STREAMS}
    write_streams(client, rows, name)


def serve(uri: str, folder: str) -> None:
    """Write once for each line of the input, in a fork that may be killed."""
    os.environ[VARIABLE] = folder
    count()  # before the modules are imported whose requests it counts
    import pravega_jobs.frames.write  # noqa: F401  once, and not in each fork
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
                    write(client, line.strip())
            except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
