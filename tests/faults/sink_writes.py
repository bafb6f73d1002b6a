"""Writes into three streams, and maybe a table, in forks that may be killed; see `sink_kills`."""

import json
import os
import random
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
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


def write(client: "PravegaClient", name: str, table: str | None = None) -> None:
    """Write, as a job does; into a table as well, if its text is given."""
    import pyarrow as pa

    from pravega_jobs.frames import write_streams

    rows = {f"{SCOPE}/{stream}": pa.Table.from_pylist(events_of(name, stream)) for stream in STREAMS}
    if table is None:
        write_streams(client, rows, name)
        return
    head = client.head(f"{SCOPE}/{STREAMS[0]}").to_text()
    rows[table] = pa.Table.from_pylist(events_of(name, table)).drop_columns("routing_key")
    write_streams(client, rows, name, cuts={"start": head, "end": head}, consumer="kills", interval=name)


def serve(uri: str, folder: str, table: str | None = None) -> None:
    """Write once for each line of the input, in a fork that may be killed."""
    os.environ[VARIABLE] = folder
    count()  # before the modules are imported whose requests it counts
    import pravega_jobs.frames.several  # noqa: F401  once, and not in each fork
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                with PravegaClient(PravegaConfig(controller_uri=uri)) as client:
                    write(client, line.strip(), table)
            except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def wrong(contents: Mapping[str, Iterable[bytes]], must_be_there: Mapping[str, bool]) -> Iterator[str]:
    """Say what is wrong of the writes, by what the streams have."""
    found: defaultdict[str, defaultdict[str, list[dict[str, object]]]] = defaultdict(lambda: defaultdict(list))
    for stream, events in contents.items():
        for event in map(json.loads, events):
            found[event["write"]][stream].append(event)
    for name in found.keys() - must_be_there.keys():
        yield f"{name!r} is in {sorted(found[name])}, and nobody has written it"
    for name, needed in must_be_there.items():
        if not found[name]:
            if needed:
                yield f"{name!r} is lost"
            continue
        for stream in STREAMS:
            expected = events_of(name, stream)
            for key in range(KEYS):
                rows = [event["row"] for event in found[name][stream] if event["row"] % KEYS == key]  # type: ignore[operator]  # a number
                if rows != [event["row"] for event in expected if event["routing_key"] == str(key)]:
                    yield f"{name!r} has the rows {rows} of key {key} in {stream}, and is in {sorted(found[name])}"


def wrong_in_table(table: str, in_streams: Iterable[str], must_be_there: Mapping[str, bool]) -> Iterator[str]:
    """Say what is wrong of the writes, by what the table has; `in_streams` are those that the streams have."""
    from pravega_jobs.landing import table_of

    target = table_of(table)
    held = {each.interval: each.rows for each in target.holdings()}
    rows, decided = target.rows() or {}, set(in_streams)
    for name in held.keys() - decided:
        yield f"{name!r} is in the table, and not in the streams"
    for name, needed in must_be_there.items():
        expected = len(events_of(name, table))
        if (needed or name in held) and (held.get(name), rows.get(("kills", name))) != (expected, expected):
            yield f"{name!r} has {rows.get(('kills', name))} rows in the table, whose note has {held.get(name)}"


if __name__ == "__main__":
    serve(*sys.argv[1:])
