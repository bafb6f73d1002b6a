"""Where a range ends that must not have more than so many bytes or events: between events, on a real stream."""

from contextlib import aclosing

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange


async def bounded_end(
    client: PravegaClient, range_: StreamCutRange, size: int, max_bytes: int | None, max_events: int | None
) -> StreamCut:
    """The end of a range, or an earlier cut between events, so that the range has not more than it may.

    A single event may be longer than `max_bytes`, and at least one event of each segment that has any is in the range,
    whatever `max_events` says.

    Args:
        client: a connected client.
        range_: the range, whose start is between events.
        size: its bytes, event headers included.
        max_bytes: how many it may have.
        max_events: how many events it may have. They are read to be counted, up to this number.

    Raises:
        PravegaError: the range does not fit the stream, or the cluster cannot be reached.
    """
    end = range_.end
    if max_bytes is not None and size > max_bytes:
        end, size = await client.next_cut(range_.start, max_bytes, end), max_bytes
    if max_events is None or size <= max_events * wire.EVENT_HEADER:
        return end
    while size > 1:
        events, read = await _count(client, StreamCutRange(range_.start, end), max_events + 1)
        if events <= max_events:
            break
        # As long as those that were read, if the others are like them; less after each attempt in any case.
        size = max(1, min(read * max_events // events, size // 2))
        end = await client.next_cut(range_.start, size, range_.end)
    return end


async def count_events(client: PravegaClient, wanted: StreamCutRange, enough: int) -> int:
    """The events of a range, which are read for that; it stops at `enough`."""
    return (await _count(client, wanted, enough))[0]


async def _count(client: PravegaClient, wanted: StreamCutRange, enough: int) -> tuple[int, int]:
    events = size = 0
    if enough > 0 and wanted.start != wanted.end:
        async with aclosing(client.read(wanted)) as reading:
            async for event in reading:
                events += 1
                size += wire.EVENT_HEADER + len(event.data)
                if events >= enough:
                    break
    return events, size
