"""When has a stream moved far enough? The condition of the sensor and its trigger, and the cuts that they name.

It remembers nothing: where a task went on is in the cut ledger.
"""

from collections.abc import Mapping
from typing import Final

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, StreamSealedError

EARLIEST: Final = "earliest"
LATEST: Final = "latest"


async def cut_at(client: PravegaClient, stream: StreamName, position: object) -> StreamCut:
    """The cut that a user names: `earliest`, `latest`, the text of a cut, or a range, which stands for its end.

    Raises:
        ConfigurationError: it is of another type.
        InvalidStreamCutError: it is no cut, or one of another stream.
        StreamNotFoundError: there is no such stream.
    """
    if isinstance(position, Mapping):
        position = position.get("end")
    if not isinstance(position, str):
        raise ConfigurationError(
            f"a position in {stream} cannot be {position!r}: give {EARLIEST}, {LATEST}, the text of a StreamCut, or a "
            "range with the texts start and end"
        )
    if position == EARLIEST:
        return await client.head(stream.scope, stream.stream)
    if position == LATEST:
        return await client.tail(stream.scope, stream.stream)
    cut = StreamCut.from_text(position)
    if cut.is_unbounded:
        raise InvalidStreamCutError(
            f"an unbounded StreamCut is no position in {stream}: say {EARLIEST} or {LATEST} instead"
        )
    if cut.stream != stream:
        raise InvalidStreamCutError(f"the StreamCut is of {cut.stream}, but {stream} is meant: give one of its own")
    return cut


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
        raise ConfigurationError("cannot wait from an unbounded StreamCut: nobody knows its stream")
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
