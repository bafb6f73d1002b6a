"""Numbers about streams, reader groups and consumers at this moment, for monitoring systems."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.errors import PravegaError, TableNotFoundError
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.reports.lag import lag_after
from aiopravega.ledger import CutRecord
from aiopravega.names import StreamName

# Names in the form of Prometheus, with their descriptions.
GAUGES: Final[Mapping[str, str]] = {
    "pravega_stream_readable_bytes": "Bytes from the head of a stream to its tail, event headers included.",
    "pravega_stream_segments": "Segments at the tail of a stream.",
    "pravega_reader_group_readers": "Readers that are online, or ended without saying so.",
    "pravega_reader_group_lag_bytes": "Bytes in a stream after what a reader group has read.",
    "pravega_reader_group_unread_bytes": "Bytes in a stream after the last checkpoint of a reader group.",
    "pravega_reader_group_needs_checkpoint": "1 if a reader group stands still until somebody makes a checkpoint.",
    "pravega_reader_group_truncated": "1 if retention has removed events that a reader group has not read.",
    "pravega_consumer_lag_bytes": "Bytes in a stream after what a consumer of the cut ledger has done.",
    "pravega_consumer_waiting_intervals": "Intervals of a consumer that are recorded and not done.",
    "pravega_consumer_lost": "1 if something was removed before a consumer had processed it.",
    "pravega_consumer_stream_made_again": "1 if the stream was deleted and made again since a consumer read it.",
    "pravega_unknown": "1 if the numbers of something cannot be found out now.",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One number: the name of its gauge, and labels that name the stream, group or consumer."""

    gauge: str
    labels: Mapping[str, str]
    value: int


async def gauges(client: PravegaClient, scope: str) -> list[Sample]:
    """The numbers of all streams, reader groups and consumers of a scope.

    An error about one of them becomes a sample of `pravega_unknown`; the others are still reported.

    Raises:
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster cannot be reached.
    """
    streams, groups = await asyncio.gather(client.list_streams(scope), client.reader_groups(scope))
    try:
        consumers = await client.cut_ledger(scope).consumers()
    except TableNotFoundError:
        consumers = {}
    all_samples = await asyncio.gather(
        *(_of_stream(client, stream) for stream in streams),
        *(_of_group(client, scope, group) for group in groups),
        *(_of_consumer(client, stream, consumer, records) for (stream, consumer), records in consumers.items()),
    )
    return [sample for samples in all_samples for sample in samples]


async def _of_stream(client: PravegaClient, stream: StreamName) -> list[Sample]:
    labels = _labels(stream)
    try:
        head, tail = await asyncio.gather(client.head(stream), client.tail(stream))
        size = await client.distance(head, tail)
    except PravegaError as error:
        return [_unknown(labels, error)]
    return [
        Sample("pravega_stream_readable_bytes", labels, size),
        Sample("pravega_stream_segments", labels, len(tail.positions)),
    ]


async def _of_group(client: PravegaClient, scope: str, group: str) -> list[Sample]:
    labels = {"scope": scope, "group": group}
    try:
        described = await client.describe_reader_group(scope, group)
    except PravegaError as error:
        return [_unknown(labels, error)]
    return _described(described, labels)


def _described(group: ReaderGroupDescription, labels: Mapping[str, str]) -> list[Sample]:
    if not group.has_state:
        return []
    samples = [
        Sample("pravega_reader_group_readers", labels, len(group.readers)),
        Sample("pravega_reader_group_needs_checkpoint", labels, group.needs_checkpoint),
    ]
    for each in group.streams:
        of = {**labels, "stream": str(each.stream)}
        samples += [
            Sample("pravega_reader_group_lag_bytes", of, each.lag_bytes),
            Sample("pravega_reader_group_unread_bytes", of, each.unread_bytes),
            Sample("pravega_reader_group_truncated", of, each.is_truncated),
        ]
    return samples


async def _of_consumer(
    client: PravegaClient, stream: StreamName, consumer: str, records: list[CutRecord]
) -> list[Sample]:
    labels = {**_labels(stream), "consumer": consumer}
    try:
        lag = await lag_after(client, stream, records)
    except PravegaError as error:
        return [_unknown(labels, error)]
    return [
        Sample("pravega_consumer_lag_bytes", labels, lag.size),
        Sample("pravega_consumer_waiting_intervals", labels, len(lag.waiting)),
        Sample("pravega_consumer_lost", labels, lag.lost is not None),
        Sample("pravega_consumer_stream_made_again", labels, lag.lost is not None and lag.lost.made_again is not None),
    ]


def _labels(stream: StreamName) -> dict[str, str]:
    return {"scope": stream.scope, "stream": stream.stream}


def _unknown(labels: Mapping[str, str], error: PravegaError) -> Sample:
    return Sample("pravega_unknown", {**labels, "error": type(error).__name__}, 1)
