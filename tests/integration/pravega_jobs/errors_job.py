"""Landings with errors into tables of each kind, and replays of these errors, as a run makes them.

Run as a program, it lands or replays once for each line of its input, each time in a fork that is killed at a step.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
from tests.faults.kill_calls import killed_at
from tests.integration.pravega_jobs.landing_job import CONSUMER, LAKES, Lake, landing

from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import Landed, land, list_errors, read_errors
from pravega_jobs.replays import Replayed, replay_errors

KINDS = ["parquet", "delta", "delta-s3", "iceberg", "postgres"]


def rows_with_errors(value: int, *bad: bytes) -> pa.Table:
    """Three rows as `rows` of `landing_job` has them, and an error for each event that is bad."""
    errors = [
        {"event": event, "pointer": f"shop/orders/0.#epoch.0:{at}-{len(event) + 8}", "reason": f"no {at}\\"}
        for at, event in enumerate(bad)
    ]
    numbers = pa.array([None] * len(bad) + [value, value, None], pa.int32())
    return pa.table({"id": numbers, "_error": pa.array([*errors, None, None, None], ERROR_TYPE)})


def land_with_errors(
    lake: Lake,
    name: str,
    value: int,
    *bad: bytes,
    generation: int = 1,
    most: int | str | None = None,
    errors: str | None = None,
) -> Landed:
    """Land three rows, with the errors into the table `errors` beside, or into an errors stream."""
    one = landing(name, generation=generation)
    return land(
        rows_with_errors(value, *bad),
        lake.table(),
        one.cuts,
        consumer=CONSUMER,
        interval=name,
        generation=generation,
        errors=errors or lake.table("errors"),
        most_errors=most,
    )


def errors_that_count(lake: Lake, errors: str | None = None) -> list[tuple[str, int, bytes]]:
    """The interval, the generation and the event of each error that counts, in the order of the events."""
    found: list[dict[str, Any]] = []
    for each in list_errors(lake.table(), errors or lake.table("errors")):
        assert each.state != "missing"
        if each.state == "counted":
            found += [row for batch in read_errors(each) for row in batch.to_pylist()]
    return sorted((row["interval_name"], row["generation"], row["event"]) for row in found)


def replay(lake: Lake, errors: str | None = None, *, interval: str | None = None) -> list[Replayed]:
    """Decode the errors of a lake's table again, as JSON that has all columns."""
    options = {"decode": "json", "columns": "id int", "missing_fields": "fail"}
    return replay_errors(lake.table(), options, errors=errors or lake.table("errors"), interval=interval)


def newer(lake: Lake, errors: str | None = None) -> Landed:
    """Land the second generation of an interval."""
    return land_with_errors(lake, "monday", 2, b"new", b"both", generation=2, errors=errors)


WORKS: dict[str, Callable[..., object]] = {"land": newer, "replay": partial(replay, interval="monday")}
# A run begins to wait for a request of the client at each of these calls, of `concurrent.futures`.
WAITS = {"acquire"}


def main(kind: str) -> None:
    """Work for each line of the input, JSON: the lake, the work, the step at which it is killed, or also a stream.

    A stream is reached by the settings of the environment, in the fork: before, no thread of a client runs.
    """
    for line in sys.stdin:
        where, work, step, *streams = json.loads(line)
        lake = LAKES[kind](where)
        calls = lake.calls | WAITS if streams else lake.calls
        print(killed_at(partial(WORKS[work], lake, *streams), calls, step), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
