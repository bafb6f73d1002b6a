"""Settings of streams: made in words, checked before they are sent, the same after a trip through the messages."""

from datetime import timedelta

import pytest

from aiopravega import RetentionPolicy, ScalingPolicy, StreamConfiguration
from aiopravega.control.convert import stream_config, stream_configuration
from aiopravega.control.policies import MOST_TAGS, NO_LIMIT
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

STREAM = StreamName("scope", "stream")


@pytest.mark.parametrize(
    "configuration",
    [
        StreamConfiguration(ScalingPolicy.fixed(4)),
        StreamConfiguration(ScalingPolicy.by_event_rate(1000, 2, 3), RetentionPolicy.time(timedelta(days=2))),
        StreamConfiguration(ScalingPolicy.by_data_rate(64, 3, 1), RetentionPolicy.bytes(10**9, 10**10), ("a", "b")),
        StreamConfiguration(
            ScalingPolicy.fixed(1),
            RetentionPolicy.time(timedelta(hours=1), timedelta(hours=2)),
            timestamp_aggregation_timeout=timedelta(seconds=25),
            rollover_bytes=1 << 20,
        ),
    ],
)
def test_a_configuration_survives_the_trip_through_its_message(configuration):
    message = pb.StreamConfig.FromString(stream_config(STREAM, configuration).SerializeToString())

    assert stream_configuration(message) == configuration


def test_no_retention_is_left_out_of_the_message():
    message = stream_config(STREAM, StreamConfiguration(ScalingPolicy.fixed(1), RetentionPolicy.none()))

    assert not message.HasField("retentionPolicy")


def test_retention_without_a_maximum_has_no_limit():
    assert RetentionPolicy.bytes(1000).maximum == NO_LIMIT
    assert RetentionPolicy.time(timedelta(seconds=1)).maximum == NO_LIMIT


def test_retention_by_time_counts_milliseconds():
    assert RetentionPolicy.time(timedelta(seconds=1.5)).minimum == 1500


def test_tags_are_a_set():
    one, two = (StreamConfiguration(ScalingPolicy.fixed(1), tags=tags) for tags in (("b", "a", "b"), ("a", "b")))

    assert one == two


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: ScalingPolicy.fixed(0), "number of segments is 0"),
        (lambda: ScalingPolicy.fixed(2**31), "number of segments"),
        (lambda: ScalingPolicy.by_event_rate(0, 2, 1), "target rate is 0"),
        (lambda: ScalingPolicy.by_data_rate(1, 0, 1), "scale factor is 0"),
        (lambda: ScalingPolicy.by_data_rate(1, 1, -1), "minimal number of segments is -1"),
        (lambda: RetentionPolicy.bytes(0), "least retention is 0"),
        (lambda: RetentionPolicy.bytes(10, 9), "longest retention, 9, is below the shortest one, 10"),
        (lambda: RetentionPolicy.time(timedelta()), "least retention is 0"),
        (lambda: RetentionPolicy.time(timedelta(days=2), timedelta(days=1)), "below the shortest"),
        (lambda: StreamConfiguration(ScalingPolicy.fixed(1), tags=("x" * 256,)), "longest of 256"),
        (
            lambda: StreamConfiguration(ScalingPolicy.fixed(1), tags=tuple(map(str, range(MOST_TAGS + 1)))),
            f"these are {MOST_TAGS + 1}",
        ),
        (lambda: StreamConfiguration(ScalingPolicy.fixed(1), rollover_bytes=-1), "negative"),
        (
            lambda: StreamConfiguration(ScalingPolicy.fixed(1), timestamp_aggregation_timeout=-timedelta(seconds=1)),
            "negative",
        ),
    ],
)
def test_a_setting_that_pravega_would_refuse_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
