"""Positions in a stream as people write them: the text of a StreamCut, or a name for one that is looked up later.

Spark's options, both schedulers and the command line read positions here. No server is asked; what a name stands for
is looked up by `aiopravega.read.calls`.
"""

from enum import Enum
from typing import TypeAlias

from aiopravega.cuts import UNBOUNDED, UNBOUNDED_TEXT, StreamCut
from aiopravega.errors import InvalidStreamCutError
from aiopravega.names import StreamName


class NamedCut(Enum):
    """A cut that is looked up when a job starts."""

    HEAD = "earliest"
    TAIL = "latest"


# The unbounded cut is a position too: the head as a start, the tail as an end.
Position: TypeAlias = StreamCut | NamedCut


def parse_position(text: str, stream: StreamName | None = None) -> Position:
    """Read `earliest`, `latest` or `unbounded`, in whatever case, or the text of a cut.

    Args:
        text: what somebody wrote.
        stream: the stream that the cut must belong to; None: any.

    Raises:
        InvalidStreamCutError: the text is neither a name nor a cut, or a cut of another stream.
    """
    name = text.strip().lower()
    if name == UNBOUNDED_TEXT.lower():
        return UNBOUNDED
    for named in NamedCut:
        if name == named.value:
            return named
    try:
        cut = StreamCut.from_text(text)
    except InvalidStreamCutError as error:
        raise InvalidStreamCutError(f"{error}; earliest, latest and unbounded work too") from error
    if stream is not None and cut.stream != stream:
        raise InvalidStreamCutError(
            f"the StreamCut is of {cut.stream}, but {stream} is to be read: give a StreamCut of that stream"
        )
    return cut
