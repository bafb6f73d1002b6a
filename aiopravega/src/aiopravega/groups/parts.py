"""What a reader group reads, as people write it: in commands, and in the arguments of schedulers."""

from collections.abc import Mapping
from typing import TypeAlias

from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.names import StreamName

# A stream to be read from its head, a cut to begin at, or a range to read.
Part: TypeAlias = StreamName | StreamCut | StreamCutRange


def parse_part(value: object, scope: str | None = None) -> Part:
    """Read the name of a stream, the text of a cut, or a mapping with the texts `start` and `end`.

    Raises:
        ConfigurationError: it is none of them.
        InvalidStreamCutError: a text of the mapping is not a cut.
    """
    if isinstance(value, StreamName | StreamCut | StreamCutRange):
        return value
    if isinstance(value, Mapping):
        return StreamCutRange.from_json(value)
    if not isinstance(value, str):
        raise ConfigurationError(f"a reader group cannot read {value!r}: give a stream, the text of a cut, or a range")
    try:
        return StreamCut.from_text(value)
    except InvalidStreamCutError:
        return StreamName.parse(value, scope)
