"""What a user may say about a read: Spark's options, read once and checked before any work starts.

Options keep the names and defaults of Pravega's JVM connector. Nothing here talks to a server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCut
from aiopravega.errors import InvalidStreamCutError
from aiopravega.names import StreamName
from pyspark_pravega.options import CONNECTION_OPTIONS, STREAM_OPTIONS, Options
from pyspark_pravega.write.options import WRITE_OPTIONS

_START: Final = "start_stream_cut"
_END: Final = "end_stream_cut"
READ_OPTIONS: Final = (*CONNECTION_OPTIONS, *STREAM_OPTIONS, _START, _END)


class NamedCut(Enum):
    """A cut that is looked up when the job starts."""

    HEAD = "earliest"
    TAIL = "latest"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The settings of one bounded read."""

    config: PravegaConfig
    stream: StreamName
    start: StreamCut | NamedCut
    end: StreamCut | NamedCut

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read Spark's options; those of writes are accepted, so that one set can serve a read and a write.

        Raises:
            ConfigurationError: an option that is unknown, missing or cannot work.
            InvalidStreamCutError: the text of a cut is none, or it is a cut of another stream.
        """
        given = Options(options, {*READ_OPTIONS, *WRITE_OPTIONS}, "a read from Pravega")
        config = given.config()
        stream = given.stream(config)
        return cls(
            config=config,
            stream=stream,
            start=_cut(given, _START, stream, NamedCut.HEAD),
            end=_cut(given, _END, stream, NamedCut.TAIL),
        )


def _cut(given: Options, name: str, stream: StreamName, unbounded: NamedCut) -> StreamCut | NamedCut:
    """The cut that an option names; an absent one is unbounded."""
    text = (given.text(name) or "unbounded").strip()
    match text.lower():
        case "unbounded":
            return unbounded
        case "earliest":
            return NamedCut.HEAD
        case "latest":
            return NamedCut.TAIL
    try:
        cut = StreamCut.from_text(text)
    except InvalidStreamCutError as error:
        raise InvalidStreamCutError(f"option {name!r}: {error}; earliest, latest and unbounded work too") from error
    if cut.stream is not None and cut.stream != stream:
        raise InvalidStreamCutError(
            f"option {name!r} is a cut of {cut.stream}, but {stream} is to be read: give a cut of that stream"
        )
    return cut
