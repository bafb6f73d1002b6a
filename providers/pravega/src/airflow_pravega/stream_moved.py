"""When has a stream moved far enough? The condition of the sensor and its trigger.

It remembers nothing: where a task continued is in the cut ledger.
"""

from aiopravega import PravegaClient, StreamCut
from aiopravega.errors import ConfigurationError, StreamSealedError


async def end_if_moved(client: PravegaClient, start: StreamCut, min_bytes: int, *, check: bool) -> StreamCut | None:
    """The tail of the stream, if at least `min_bytes` (event headers included) lie between `start` and it.

    Args:
        client: a connected client.
        start: a cut of the stream.
        min_bytes: how far the stream has to move.
        check: whether `start` is checked against the stream even where the answer is known without.

    Raises:
        StreamSealedError: the stream is sealed, so that the bytes will never come.
        PravegaError: `start` does not fit the stream, or the cluster cannot be reached.
    """
    stream = start.stream
    if stream is None:
        raise ConfigurationError("cannot wait from an unbounded StreamCut: it names no stream")
    tail = await client.tail(stream.scope, stream.stream)
    moved = _moved_within(start, tail)
    if check or moved is None or moved >= min_bytes:
        moved = await client.distance(start, tail)
    if moved >= min_bytes:
        return tail
    if await client.is_sealed(stream.scope, stream.stream):
        raise StreamSealedError(
            f"{stream} is sealed {moved:,} bytes after {start}: it will never reach {min_bytes:,}. "
            "Wait for fewer bytes to read the rest."
        )
    return None


def _moved_within(start: StreamCut, tail: StreamCut) -> int | None:
    """The bytes between two cuts of the same segments; None if the stream was scaled, and the server has to say."""
    if start.positions.keys() != tail.positions.keys() or min(start.positions.values()) < 0:
        return None
    return sum(tail.positions[segment] - offset for segment, offset in start.positions.items())
