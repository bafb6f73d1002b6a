"""Options of streams that a write makes if they are missing: their scaling, retention and watermarks."""

from datetime import timedelta
from typing import Final

from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.errors import ConfigurationError
from pravega_jobs.decoding.option_texts import Options

_DEFAULT_SEGMENTS: Final = 1
_DEFAULT_SCALE_FACTOR: Final = 2
_BYTES_PER_KILOBYTE: Final = 1000

_BY_BYTES: Final = "default_segment_target_rate_bytes_per_sec"
_BY_EVENTS: Final = "default_segment_target_rate_events_per_sec"
_KEEP_FOR: Final = "default_retention_duration_milliseconds"
_KEEP_BYTES: Final = "default_retention_size_bytes"
_PATIENCE: Final = "default_timestamp_aggregation_timeout_milliseconds"
# For streams that a write which notes times makes: the longest time of a job from one note to the next.
_DEFAULT_PATIENCE_MS: Final = 600_000
POLICY_OPTIONS: Final = (
    "default_num_segments",
    "default_scale_factor",
    _BY_BYTES,
    _BY_EVENTS,
    _KEEP_FOR,
    _KEEP_BYTES,
    _PATIENCE,
)


def scaling_of(given: Options) -> ScalingPolicy:
    """The scaling of streams that are made.

    Raises:
        ConfigurationError: it is by bytes and by events.
    """
    segments = given.number("default_num_segments") or _DEFAULT_SEGMENTS
    factor = given.number("default_scale_factor") or _DEFAULT_SCALE_FACTOR
    by_bytes, by_events = given.number(_BY_BYTES), given.number(_BY_EVENTS)
    if by_bytes is not None and by_events is not None:
        raise ConfigurationError(f"options {_BY_BYTES!r} and {_BY_EVENTS!r} exclude each other: give one of them")
    if by_bytes is not None:
        return ScalingPolicy.by_data_rate(max(1, by_bytes // _BYTES_PER_KILOBYTE), factor, segments)
    if by_events is not None:
        return ScalingPolicy.by_event_rate(by_events, factor, segments)
    return ScalingPolicy.fixed(segments)


def retention_of(given: Options) -> RetentionPolicy:
    """The retention of streams that are made.

    Raises:
        ConfigurationError: it is by time and by size.
    """
    milliseconds, size = given.number(_KEEP_FOR), given.number(_KEEP_BYTES)
    if milliseconds is not None and size is not None:
        raise ConfigurationError(f"options {_KEEP_FOR!r} and {_KEEP_BYTES!r} exclude each other: give one of them")
    if milliseconds is not None:
        return RetentionPolicy.time(timedelta(milliseconds=milliseconds))
    if size is not None:
        return RetentionPolicy.bytes(size)
    return RetentionPolicy.none()


def patience_of(given: Options, *, notes: bool) -> timedelta:
    """The time for which watermarks of a stream that is made wait for a writer without a new note."""
    milliseconds = given.number(_PATIENCE, 0)
    if milliseconds is None:
        milliseconds = _DEFAULT_PATIENCE_MS if notes else 0
    return timedelta(milliseconds=milliseconds)
