"""The keys of partitions of recorded ranges: the names of intervals, with their event times where these are wanted."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from dagster import DagsterInstance

from aiopravega import PravegaClient
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions, key_with_times

# Watermarks come every 10 s while writers note times. After this time a range is taken for one without a last time.
_WAIT: Final = timedelta(minutes=5)


def known_keys(partitions: StreamCutPartitions, instance: DagsterInstance) -> dict[str, str]:
    """The keys that Dagster has, by the names of intervals: a range that is a partition keeps its key."""
    keys = instance.get_dynamic_partitions(str(partitions.name))
    return {partitions.interval(key).name: key for key in keys}


async def keys_of(
    client: PravegaClient,
    partitions: StreamCutPartitions,
    records: Sequence[CutRecord],
    known: Mapping[str, str],
    *,
    wait: bool = True,
) -> list[str]:
    """The keys of records, in their order; with `wait` up to the first range whose event times are not known yet.

    The last time of a range is known some watermarks after it was written. If they have not come within five minutes,
    because the writers note no times any more, its key says that it has no last time.

    Raises:
        PravegaError: the watermarks cannot be read.
    """
    if partitions.ahead is None:
        return [record.interval for record in records]
    keys: list[str] = []
    for record in records:
        if record.interval in known:
            keys.append(known[record.interval])
            continue
        span = await client.time_span(record.range, ahead=partitions.ahead, unit=partitions.unit)
        if wait and span[1] is None and datetime.now(UTC) - record.recorded_at < _WAIT:
            break
        since, until = (None if time is None else partitions.unit.moment(time) for time in span)
        keys.append(key_with_times(record.interval, (since, until)))
    return keys
