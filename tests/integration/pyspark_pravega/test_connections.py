"""The connections of Spark's Python workers are kept from task to task, and from job to job."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ESTABLISHED = "01"
SEGMENTS = 40
JOBS = 5


def children_of(parent: int) -> Iterator[int]:
    """A process and all that it has started, directly or not."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2]
            except OSError:
                continue  # it ended meanwhile
            parents.setdefault(int(after_name.split()[1]), []).append(int(entry.name))
    waiting = [parent]
    while waiting:
        yield waiting[-1]
        waiting += parents.get(waiting.pop(), [])


def connections(processes: Iterator[int], port: int) -> set[tuple[int, int]]:
    """Process and local port of each connection to a port of this machine."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = {
        f"socket:[{line[9]}]": int(line[1].partition(":")[2], 16)
        for line in lines
        if int(line[2].partition(":")[2], 16) == port and line[3] == ESTABLISHED
    }
    found = set()
    for process in processes:
        try:
            sockets = [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
        except OSError:
            continue  # the process, or one of its files, is gone meanwhile
        found |= {(process, local[socket]) for socket in sockets if socket in local}
    return found


def test_later_tasks_and_jobs_open_no_connection(spark, read, fill, client, make_stream):
    stream = make_stream(SEGMENTS)
    fill(stream, 20 * SEGMENTS)
    segment = next(iter(client.head(stream).positions))
    port = client.run(client.controller.endpoint(segment)).port

    def run() -> set[tuple[int, int]]:
        assert read(stream, split_bytes=0).count() == 20 * SEGMENTS
        return connections(children_of(spark.sparkContext._gateway.proc.pid), port)

    run()
    found = [run() for _ in range(JOBS)]

    # Not in every job: Spark may have ended a worker that was idle, and started another.
    assert any(after <= before for before, after in pairwise(found))
    # Forty tasks a job; two at a time run, one more worker plans, and those of earlier tests may still be there.
    assert all(2 <= len(each) < SEGMENTS // 2 for each in found)
