"""The streams of a read, and the cuts between which each is read, from Spark's options.

Spark writes the keys of options in small letters, while names of streams may have capitals: keys are matched in any
case, and refused if two streams match. This module asks no server.
"""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.names import StreamName
from aiopravega.positions import Position, parse_position
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.spark.options import RANGE_OPTIONS

_START, _END = RANGE_OPTIONS
_STREAMS: Final = "streams"
_OF = "."


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of a read, and the positions between which it is read; None: no option gives the position."""

    stream: StreamName
    start: Position | None = None
    end: Position | None = None


def is_cut_of_one_stream(option: str) -> bool:
    """Return True if an option is of the form `start_stream_cut.<stream>` or `end_stream_cut.<stream>`."""
    return option.lower().startswith((f"{_START}{_OF}", f"{_END}{_OF}"))


def parse_sources(
    given: Options, config: PravegaConfig, cuts: Collection[str], *, of_times: bool = False
) -> tuple[Source, ...]:
    """The streams of options `stream` or `streams`, in their order.

    Args:
        given: all options.
        config: has the default scope.
        cuts: names of the options that are cuts of one stream.
        of_times: event times give the range of a stream without cuts.

    Raises:
        ConfigurationError: no stream is given, or one twice; a cut is for a stream that is not read; or one cut is
            given, with event times.
        InvalidStreamCutError: a text is not a cut, or it is a cut of another stream.
    """
    streams = _streams(given, config)
    own = _cuts_by_stream(cuts, streams)
    sources = tuple(
        Source(
            stream,
            _position(given, own.get((_START, stream)), _START, stream),
            _position(given, own.get((_END, stream)), _END, stream),
        )
        for stream in streams
    )
    for source in sources:
        if of_times and (source.start is None) != (source.end is None):
            raise ConfigurationError(
                f"{source.stream}: one cut and event times are given: give both cuts, between which events of these "
                "times are searched, or none: then the stream's watermarks give the cuts"
            )
    return sources


def _streams(given: Options, config: PravegaConfig) -> list[StreamName]:
    text = given.text(_STREAMS)
    if text is None:
        return [given.stream(config)]
    if given.text("stream") is not None:
        raise ConfigurationError("options 'stream' and 'streams' exclude each other: give one of them")
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ConfigurationError(f"option 'streams' is {text!r}, but must be names separated by commas")
    streams = [StreamName.parse(name, config.scope) for name in names]
    twice = sorted({str(stream) for stream in streams if streams.count(stream) > 1})
    if twice:
        raise ConfigurationError(f"option 'streams' has {', '.join(twice)} more than once: name each stream once")
    return streams


def _cuts_by_stream(cuts: Collection[str], streams: list[StreamName]) -> dict[tuple[str, StreamName], str]:
    """The options that give the start or the end of one stream, by `start` or `end` and the stream."""
    own: dict[tuple[str, StreamName], str] = {}
    for option in cuts:
        kind, _, name = option.lower().partition(_OF)
        meant = [stream for stream in streams if name in (stream.stream.lower(), str(stream).lower())]
        if not meant:
            names = [stream.stream for stream in streams] + [str(stream) for stream in streams]
            close = get_close_matches(name, names, n=3) or names[: len(streams)]
            raise ConfigurationError(
                f"option {option!r} is for a stream that is not read: did you mean {kind}{_OF}{' or '.join(close)}?"
            )
        if len(meant) > 1:
            raise ConfigurationError(
                f"option {option!r} could be for {' or '.join(map(str, meant))} (keys of options have no capitals): "
                "write it with its scope, or read these streams one by one"
            )
        if (kind, meant[0]) in own:
            raise ConfigurationError(
                f"options {own[kind, meant[0]]!r} and {option!r} are both for {meant[0]}: give one of them"
            )
        own[kind, meant[0]] = option
    return own


def _position(given: Options, own: str | None, option: str, stream: StreamName) -> Position | None:
    """The start or the end of a stream: by the option for this stream, otherwise by the option for all streams."""
    name = own if own is not None and given.text(own.lower()) is not None else option
    text = (given.text(name.lower()) or "").strip()
    try:
        return parse_position(text, stream) if text else None
    except InvalidStreamCutError as error:
        raise InvalidStreamCutError(f"option {name!r}: {error}") from error
