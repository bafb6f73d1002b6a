"""Counts of the events of a range that cannot be decoded, with the reasons."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from aiopravega import StreamCutRange
from aiopravega.blocking import PravegaClient
from aiopravega.gates.sampling import sampled_events
from aiopravega.read import Event, EventPointer
from pravega_jobs.decoding.plan import CountingDecoder

# Events of a block; few enough for the memory even if each has some hundred kilobytes.
_BLOCK: Final = 1000
_MOST_FAILURES: Final = 20
_LONGEST_REASON: Final = 300  # characters


@dataclass(slots=True)
class DecodeErrors:
    """The numbers of events that were read and that failed; `failures` are the first, as position and reason."""

    events: int = 0
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)


def count_errors(
    client: PravegaClient, wanted: StreamCutRange, decoder: CountingDecoder, sample: int | None
) -> DecodeErrors:
    """Decode the events of a range.

    Args:
        client: a connected client.
        wanted: the range, with both ends fixed.
        decoder: makes columns of a block of events.
        sample: the most events that are read, at several offsets of the range; None: all of them.

    Raises:
        PravegaError: the range cannot be read, or the registry cannot be asked.
    """
    errors = DecodeErrors()
    events = sampled_events(client.asynchronous, wanted, sample)
    try:
        # Decoding asks the registry in this thread; the loop's thread only reads.
        while block := client.run(_next(events)):
            bad = decoder.bad(pa.array([event.data for event in block], pa.binary()), block[0].segment)
            errors.events += len(block)
            errors.failed += len(bad)
            for at in sorted(bad)[: _MOST_FAILURES - len(errors.failures)]:
                reason = " ".join(str(bad[at]).split())[:_LONGEST_REASON]
                errors.failures.append((str(EventPointer.of(block[at])), reason))
    finally:
        client.run(events.aclose())
    return errors


async def _next(events: AsyncIterator[Event]) -> list[Event]:
    block: list[Event] = []
    while len(block) < _BLOCK and (event := await anext(events, None)) is not None:
        block.append(event)
    return block
