"""Streams, cuts and ranges as texts: the parts that a reader group reads, and options of tables in Flink's SQL."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.names import StreamName

# A stream to be read from its head, a cut to begin at, or a range to read.
Part: TypeAlias = StreamName | StreamCut | StreamCutRange


def parse_part(value: object, scope: str | None = None) -> Part:
    """Read the name of a stream, the text of a cut, or a mapping with the texts `start` and `end`.

    Raises:
        ConfigurationError: the value is none of them.
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


def flink_sql_options(ranges: Sequence[StreamCutRange]) -> str:
    """The options of a table that reads these ranges, for its `WITH (…)`: one line, in the order of the streams.

    The connector accepts cuts for all streams or for none, and streams of one scope. An unbounded start is the head;
    with an unbounded end the table continues to be read.

    Raises:
        ConfigurationError: a range names no stream, the streams are of several scopes, or only some ends are unbounded.
    """
    streams = [each.stream for each in ranges]
    named = [stream for stream in streams if stream is not None]
    if not ranges or len(named) < len(streams):
        raise ConfigurationError("a range whose ends are both unbounded names no stream: resolve it first")
    if len({stream.scope for stream in named}) > 1:
        raise ConfigurationError(f"a table of Flink has streams of one scope, not {', '.join(map(str, named))}")
    options = {"scope": named[0].scope, "scan.streams": ";".join(stream.stream for stream in named)}
    for name, cuts in (("start", [each.start for each in ranges]), ("end", [each.end for each in ranges])):
        if all(cut.is_unbounded for cut in cuts):
            continue
        if any(cut.is_unbounded for cut in cuts):
            raise ConfigurationError(f"the connector takes {name} cuts for all streams or for none: resolve the ranges")
        options[f"scan.{name}-streamcuts"] = ";".join(cut.to_text() for cut in cuts)
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
