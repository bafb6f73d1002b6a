"""Samples of the events of a range, for checks of data."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.read import Event

# A sample is taken from the beginnings of so many parts of the range, of about the same size.
_SAMPLED_PARTS: Final = 10


def hold_sample(sample: int | None) -> None:
    """Refuse a sample of no events.

    Raises:
        ConfigurationError: it is not a positive number.
    """
    if sample is not None and sample < 1:
        raise ConfigurationError(f"a sample of {sample} events is empty: give a number above 0, or no sample")


async def sampled_events(
    client: PravegaClient, wanted: StreamCutRange, sample: int | None
) -> AsyncGenerator[Event, None]:
    """All events of a range, or the first ones of each of several parts of it.

    Args:
        client: of the cluster.
        wanted: the range, with both ends fixed.
        sample: the most events; None: all of them.

    Raises:
        PravegaError: the range cannot be read.
    """
    if sample is None:
        async with aclosing(client.read(wanted)) as events:
            async for event in events:
                yield event
        return
    parts = await client.split(wanted, min(_SAMPLED_PARTS, sample))
    left = sample
    for number, part in enumerate(parts):
        share = -(-left // (len(parts) - number))  # later parts give more if an earlier part had too few
        async with aclosing(client.read(part)) as events:
            async for event in events:
                if share == 0:
                    break
                yield event
                share -= 1
                left -= 1
